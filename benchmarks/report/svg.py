"""A small kit for charts as SVG text: scales, axes, marks, labels that keep apart."""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["Axis", "Label", "Plot", "mark", "spread", "ticks"]

WIDTH, HEIGHT = 440.0, 300.0
_TOP, _LEFT, _BOTTOM = 28.0, 48.0, 46.0
_LETTER = 7.6
"""Average width of a letter of a label, in SVG units."""


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers that span an interval.

    Args:
        low: Its lower end.
        high: Its upper end; an empty interval is widened.
        count: About how many.

    Example:
        >>> ticks(0.0, 1.0)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 2.5, 5, 10) if unit * m >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def short(value: float) -> str:
    """A number as an axis writes it.

    Example:
        >>> short(12500), short(0.25), short(-0.1)
        ('12,500', '0.25', '−0.1')
    """
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        name: What it shows, with its unit.
        low: The smallest value that must fit.
        high: The largest.
        whole: Whether only whole numbers make sense.
    """

    name: str
    low: float
    high: float
    whole: bool = False

    @property
    def ticks(self) -> list[float]:
        """Its round numbers; the first and the last are its ends."""
        found = ticks(self.low, self.high)
        kept = [value for value in found if not self.whole or value == int(value)]
        return kept if len(kept) > 1 else found

    @classmethod
    def around(cls, name: str, values: Iterable[float], *, whole: bool = False) -> "Axis":
        """An axis that fits values; one of no values spans 0 to 1."""
        known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        return cls(name, min(known), max(known), whole)


@dataclass(frozen=True)
class Label:
    """A name at the end of a line.

    Attributes:
        text: The name.
        y: Where it would like to stand, in SVG units.
        css: The classes that colour it.
    """

    text: str
    y: float
    css: str


@dataclass
class Plot:
    """A chart that is being drawn.

    Attributes:
        x: The horizontal axis.
        y: The vertical axis.
        said: What a screen reader says.
        right: Room for labels on the right, in SVG units.
        parts: What has been drawn.
    """

    x: Axis
    y: Axis
    said: str
    right: float = 14.0
    parts: list[str] = field(default_factory=list)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a value lies, in SVG units."""
        (x0, *_, x1), (y0, *_, y1) = self.x.ticks, self.y.ticks
        width, height = WIDTH - _LEFT - self.right, HEIGHT - _TOP - _BOTTOM
        return (
            round(_LEFT + width * (x - x0) / (x1 - x0), 1),
            round(_TOP + height * (1 - (y - y0) / (y1 - y0)), 1),
        )

    def path(self, points: Sequence[tuple[float, float]], css: str) -> None:
        """Draws a line through values."""
        if len(points) > 1:
            self.parts.append(f'<path class="{css}" d="M{self._through(points)}"/>')

    def band(self, points: Sequence[tuple[float, float, float]], css: str) -> None:
        """Fills between (x, low, high)."""
        known = [p for p in points if all(map(math.isfinite, p))]
        if len(known) > 1:
            edge = [(x, low) for x, low, _ in known] + [(x, high) for x, _, high in reversed(known)]
            self.parts.append(f'<path class="{css}" d="M{self._through(edge)}Z"/>')

    def cloud(self, points: Iterable[tuple[float, float]], css: str) -> str:
        """Many dots as one path, which keeps the page small."""
        spots = (self.place(x, y) for x, y in points)
        return f'<path class="{css}" d="{"".join(f"M{x:g} {y:g}h0" for x, y in spots)}"/>'

    def mark(self, x: float, y: float, css: str, tip: str, shape: int = 0) -> None:
        """Draws a mark with a text for pointers and keys."""
        self.parts.append(mark(*self.place(x, y), css, tip, shape))

    def labels(self, labels: Iterable[Label]) -> None:
        """Names the lines at their right ends."""
        wanted = sorted(labels, key=lambda label: label.y)
        places = spread([label.y for label in wanted], 15.0, _TOP, HEIGHT - _BOTTOM)
        x = WIDTH - self.right + 9
        for label, y in zip(wanted, places, strict=True):
            text = html.escape(label.text)
            self.parts.append(f'<text class="{label.css}" x="{x}" y="{y + 4:.1f}">{text}</text>')

    def even(self) -> None:
        """Draws the line of equal values across the axes' common part."""
        low = max(self.x.ticks[0], self.y.ticks[0])
        high = min(self.x.ticks[-1], self.y.ticks[-1])
        self.path([(low, low), (high, high)], "even")

    def zero(self) -> None:
        """Draws the level of zero, where that lies within."""
        levels = self.y.ticks
        if levels[0] < 0 < levels[-1]:
            self.path([(self.x.ticks[0], 0.0), (self.x.ticks[-1], 0.0)], "base")

    def svg(self) -> str:
        """The chart as text."""
        said = html.escape(self.said, quote=True)
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" tabindex="0" '
            f'aria-label="{said}">{"".join(self._axes())}{"".join(self.parts)}</svg>'
        )

    def _axes(self) -> Iterable[str]:
        left, right = _LEFT, WIDTH - self.right
        bottom = HEIGHT - _BOTTOM
        for value in self.y.ticks:
            y = self.place(self.x.ticks[0], value)[1]
            css = "base" if value == self.y.ticks[0] else "rule"
            yield f'<path class="{css}" d="M{left:g} {y:g}H{right:g}"/>'
            yield f'<text x="{left - 7:g}" y="{y + 4:g}" text-anchor="end">{short(value)}</text>'
        for value in self.x.ticks:
            x = self.place(value, self.y.ticks[0])[0]
            yield f'<path class="base" d="M{x:g} {bottom:g}v4"/>'
            yield f'<text x="{x:g}" y="{bottom + 18:g}" text-anchor="middle">{short(value)}</text>'
        yield (
            f'<text class="axis-name" x="{(left + right) / 2:g}" y="{HEIGHT - 8:g}" '
            f'text-anchor="middle">{html.escape(self.x.name)}</text>'
        )
        yield f'<text class="axis-name" x="4" y="12">{html.escape(self.y.name)}</text>'

    def _through(self, points: Iterable[tuple[float, float]]) -> str:
        return "L".join("{:g} {:g}".format(*self.place(x, y)) for x, y in points)


def mark(x: float, y: float, css: str, tip: str, shape: int = 0) -> str:
    """One of five shapes at a place in SVG units, with a text for pointers and keys."""
    outline = (
        f"M{x - 4:g} {y:g}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
        f"M{x - 4:g} {y - 4:g}h8v8h-8z",
        f"M{x:g} {y - 5:g}l5 9h-10z",
        f"M{x:g} {y - 5.5:g}l5 5.5l-5 5.5l-5 -5.5z",
        f"M{x:g} {y + 5:g}l5 -9h-10z",
    )[shape % 5]
    said = html.escape(tip, quote=True)
    return f'<path class="{css}" data-x="{x:g}" data-y="{y:g}" data-tip="{said}" d="{outline}"/>'


def room(names: Iterable[str]) -> float:
    """Room that names at the right ends of lines take, in SVG units."""
    return 20.0 + _LETTER * max((len(name) for name in names), default=0)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Moves ascending places apart by at least a gap, within bounds where they fit.

    Example:
        >>> spread([10.0, 11.0], 15.0, 0.0, 100.0)
        [10.0, 25.0]
    """
    placed: list[float] = []
    for value in wanted:
        placed.append(max(value, low, placed[-1] + gap if placed else low))
    for i in range(len(placed) - 1, -1, -1):
        limit = placed[i + 1] - gap if i + 1 < len(placed) else high
        placed[i] = min(placed[i], limit)
    return placed
