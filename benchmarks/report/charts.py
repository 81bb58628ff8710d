"""The charts of the report; each is a card with a picture, a sentence and its figures."""

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from wmrl_envs.benchmarks.report.runs import executions, seconds
from wmrl_envs.benchmarks.report.success_files import SUCCESS_SPLITS
from wmrl_envs.benchmarks.report.summaries import (
    Arm,
    Fidelity,
    Point,
    scores,
    series,
    split_title,
)
from wmrl_envs.benchmarks.report.svg import Axis, Label, Plot, room

__all__ = ["Card", "bias_chart", "cost_chart", "learning_chart", "order_chart", "step_chart"]

_MEASURES = {
    "mean reward": "Mean measured reward.",
    "success rate": "Share of rollouts that reach the goal.",
}


@dataclass(frozen=True)
class Card:
    """One chart.

    Attributes:
        title: What it shows, its unit included.
        note: How to read it.
        picture: SVG, or other HTML that is safe.
        heads: Column names of its figures.
        rows: Its figures as text.
        attributes: HTML attributes of the card.
        wide: Whether it takes the whole width.
    """

    title: str
    note: str
    picture: str
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    attributes: str = ""
    wide: bool = False

    def html(self) -> str:
        """The card as HTML."""
        css = "card wide-card" if self.wide else "card"
        return (
            f'<section class="{css}" {self.attributes}><h3>{html.escape(self.title)}</h3>'
            f'<p class="note">{html.escape(self.note)}</p>{self.picture}{self._figures()}</section>'
        )

    def _figures(self) -> str:
        if not self.rows:
            return ""
        return f"<details><summary>The figures</summary>{table(self.heads, self.rows)}</details>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML; every cell is escaped."""
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(text))}</td>" for text in row) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="figures"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def learning_chart(found: Sequence[Arm], split: str) -> Card | None:
    """Score against step, by arm."""
    lines = [(arm, points) for arm in found if (points := scores(arm, split))]
    if not lines:
        return None
    values = [v for _, points in lines for p in points for v in (p.mean, p.low, p.high)]
    plot = Plot(
        Axis.around("policy updates", [p.step for _, ps in lines for p in ps], whole=True),
        Axis.around(unit_of(split), values),
        f"Score on {split_title(split)} against policy updates, by arm",
        right=room(arm.short for arm, _ in lines),
    )
    for arm, points in lines:
        plot.band([(p.step, p.low, p.high) for p in points], f"band {arm.css}")
    for arm, points in lines:
        _line(plot, arm, [(p.step, p.mean, _tip(arm, p)) for p in points])
    _name_ends(plot, [(arm, points[-1].step, points[-1].mean) for arm, points in lines])
    return Card(
        f"Score on {split_title(split)}",
        f"{_MEASURES[unit_of(split)]} {band_note(found)}",
        plot.svg(),
        ("arm", "step", "score", "episodes", "seeds"),
        [
            (arm.title, str(p.step), p.text, str(p.episodes or "–"), str(p.runs))
            for arm, points in lines
            for p in points
        ],
    )


def unit_of(split: str) -> str:
    """What a score on a split is."""
    return "success rate" if split in SUCCESS_SPLITS.values() else "mean reward"


def band_note(found: Sequence[Arm]) -> str:
    """What the bands mean."""
    if max(len(arm.runs) for arm in found) > 1:
        return "Bands: 95 % intervals, resampling (seed, task)."
    return "Bands: 95 % intervals, resampling tasks; with one seed they say nothing about seeds."


def cost_chart(
    found: Sequence[Arm], split: str, cost: Callable[[Point], float | None], unit: str
) -> Card | None:
    """Score against cost: a thin path through training, an arrow off the real-execution run."""
    paths = [(arm, _priced(arm, split, cost)) for arm in found]
    lines = [(arm, points) for arm, points in paths if points]
    if not any(price for _, points in lines for price, _ in points):
        return None
    plot = Plot(
        Axis("", 0.0, max(price for _, points in lines for price, _ in points)),
        Axis.around(
            unit_of(split), [v for _, ps in lines for _, p in ps for v in (p.mean, p.low, p.high)]
        ),
        f"Score on {split_title(split)} against {unit}, by arm",
        right=room(arm.short for arm, _ in lines),
    )
    plot.x = Axis(unit, plot.x.low, plot.x.high)
    for arm, points in lines:
        plot.path([(price, p.mean) for price, p in points], f"thin {arm.css}")
    _arrows(plot, lines)
    for arm, points in lines:
        price, last = points[-1]
        plot.path([(price, last.low), (price, last.high)], f"whisker {arm.css}")
        tip = f"{arm.title}\nscore {last.text}\n{price:,.0f} {unit}, step {last.step}"
        plot.mark(price, last.mean, f"mark {arm.css}", tip, arm.shape)
    _name_ends(plot, [(arm, points[-1][0], points[-1][1].mean) for arm, points in lines])
    return Card(
        f"Score against {unit}",
        f"{split_title(split).capitalize()}. Thin: the way there. Mark: the end, with its 95 % "
        f"interval. {_arrow_note(lines)}",
        plot.svg(),
        ("arm", unit, "score"),
        [(arm.title, f"{points[-1][0]:,.0f}", points[-1][1].text) for arm, points in lines],
        f'data-split="{html.escape(split, quote=True)}"',
    )


def _priced(
    arm: Arm, split: str, cost: Callable[[Point], float | None]
) -> list[tuple[float, Point]]:
    return [(price, p) for p in scores(arm, split) if (price := cost(p)) is not None]


def cpu_seconds(point: Point) -> float | None:
    """All seconds of a point's costs; None where none were recorded."""
    kinds = seconds(point.costs)
    return sum(kinds.values()) if kinds else None


def _arrows(plot: Plot, lines: Sequence[tuple[Arm, Sequence[tuple[float, Point]]]]) -> None:
    ends = {arm.name: points[-1] for arm, points in lines}
    if "real" not in ends:
        return
    price, point = ends["real"]
    x, y = plot.place(price, point.mean)
    for arm, points in lines:
        to_x, to_y = plot.place(points[-1][0], points[-1][1].mean)
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        if arm.name != "real" and length > 24:
            cut = (length - 9) / length
            ends_at = f"{x + (to_x - x) * cut:.1f} {y + (to_y - y) * cut:.1f}"
            plot.parts.append(f'<path class="arrow {arm.css}" d="M{x:g} {y:g}L{ends_at}"/>')


def _arrow_note(lines: Sequence[tuple[Arm, Sequence[tuple[float, Point]]]]) -> str:
    if any(arm.name == "real" for arm, _ in lines) and len(lines) > 1:
        return "Arrows lead from real execution: left is cost saved, up is score gained."
    return "Costs include the world model's execution log."


def step_chart(
    found: Sequence[Arm],
    title: str,
    note: str,
    keys: Sequence[str],
    unit: str,
    zero: bool = False,
) -> Card | None:
    """A figure of every step, by arm, as the mean over seeds."""
    lines = [(arm, points) for arm in found if (points := series(arm, *keys))]
    if not lines:
        return None
    values = [y for _, points in lines for _, y in points] + ([0.0] if zero else [])
    plot = Plot(
        Axis.around("policy updates", [x for _, points in lines for x, _ in points], whole=True),
        Axis.around(unit, values),
        f"{title}, by arm",
        right=room(arm.short for arm, _ in lines),
    )
    plot.zero()
    for arm, points in lines:
        _line(plot, arm, [(x, y, f"{arm.title}\nstep {x:g}: {y:.4g}") for x, y in points])
    _name_ends(plot, [(arm, *points[-1]) for arm, points in lines])
    rows = [(arm.title, f"{x:g}", f"{y:.4g}") for arm, points in lines for x, y in points]
    return Card(title, note, plot.svg(), ("arm", "step", "value"), rows)


def bias_chart(found: Sequence[Arm]) -> Card | None:
    """Mean prediction − measurement at every evaluation: raw broken, corrected solid."""
    return _fidelity_chart(
        found,
        "Bias of the predictions",
        "Mean of prediction − measurement on evaluated episodes, training and held-out. Dotted: "
        "raw; solid: after the correction, where the arm has one.",
        "reward",
        lambda f: f.bias,
        corrected=True,
    )


def order_chart(found: Sequence[Arm]) -> Card | None:
    """Share of pairs in the right order at every evaluation."""
    return _fidelity_chart(
        found,
        "Rank agreement: pairs in the right order",
        "Of two evaluated solutions to one task with different measurements, how often the world "
        "model prefers the better. Chance is 0.5.",
        "share of pairs",
        lambda f: f.ordered,
    )


def _fidelity_chart(
    found: Sequence[Arm],
    title: str,
    note: str,
    unit: str,
    figure: Callable[[Fidelity], float],
    corrected: bool = False,
) -> Card | None:
    raw = {arm.name: _fidelity(arm, figure, "predicted") for arm in found}
    mapped = {arm.name: _fidelity(arm, figure, "corrected") if corrected else [] for arm in found}
    lines = [arm for arm in found if raw[arm.name]]
    points = [p for side in (raw, mapped) for line in side.values() for p in line]
    if not points:
        return None
    plot = Plot(
        Axis.around("policy updates", [x for x, _ in points], whole=True),
        Axis.around(unit, [y for _, y in points] + ([0.0] if corrected else [])),
        f"{title}, by arm",
        right=room(arm.short for arm in lines),
    )
    plot.zero()
    for arm in lines:
        solid = mapped[arm.name] or ([] if corrected else raw[arm.name])
        if corrected:
            plot.path(raw[arm.name], f"line dash {arm.css}")
        for side, name in ((raw[arm.name], "raw"), (solid, "corrected")):
            for x, y in side:
                tip = f"{arm.title}, {name if corrected else 'raw'}\nstep {x:g}: {y:.3f}"
                plot.mark(x, y, f"mark {arm.css}", tip, arm.shape)
        plot.path(solid, f"line {arm.css}")
    _name_ends(plot, [(arm, *(mapped[arm.name] or raw[arm.name])[-1]) for arm in lines])
    rows = [
        (arm.title, name, f"{x:g}", f"{y:.3f}")
        for arm in lines
        for name, side in (("raw", raw[arm.name]), ("corrected", mapped[arm.name]))
        for x, y in side
    ]
    return Card(title, note, plot.svg(), ("arm", "prediction", "step", "value"), rows)


def _fidelity(
    arm: Arm, figure: Callable[[Fidelity], float], side: str
) -> list[tuple[float, float]]:
    found = [
        (
            step,
            Fidelity.of([e.episodes for _, e in arm.evaluations(step)], lambda e: getattr(e, side)),
        )
        for step in arm.steps
    ]
    return [(float(s), figure(f)) for s, f in found if f is not None and figure(f) == figure(f)]


def _line(plot: Plot, arm: Arm, points: Sequence[tuple[float, float, str]]) -> None:
    """A line with marks; where there are many, the marks are only felt."""
    plot.path([(x, y) for x, y, _ in points], f"line {arm.css}")
    css = f"mark {arm.css}" if len(points) <= 12 else "spot"
    for x, y, tip in points:
        plot.mark(x, y, css, tip, arm.shape)


def _name_ends(plot: Plot, ends: Iterable[tuple[Arm, float, float]]) -> None:
    """Names lines at the right; a line that ends before it is led there."""
    known, right = list(ends), plot.x.ticks[-1]
    for arm, x, y in known:
        plot.path([(x, y), (right, y)], f"thin dash {arm.css}")
    plot.labels(
        Label(arm.short, plot.place(right, y)[1], f"label {arm.css}") for arm, _, y in known
    )


def _tip(arm: Arm, point: Point) -> str:
    spent = executions(point.costs)
    cost = "" if spent is None else f"\n{spent:,.0f} executions so far"
    return f"{arm.title}, step {point.step}\nscore {point.text}{cost}"
