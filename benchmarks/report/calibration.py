"""Predicted against measured at every evaluation, as frames that a slider shows one at a time."""

import html
from collections.abc import Callable, Sequence

import numpy as np

from wmrl_envs.benchmarks.report.charts import Card
from wmrl_envs.benchmarks.report.episodes import Episode
from wmrl_envs.benchmarks.report.summaries import Arm, Fidelity
from wmrl_envs.benchmarks.report.svg import Axis, Plot, mark, ticks

__all__ = ["calibration_cards", "calibration_steps"]

_BINS = 6
_MOST_DOTS = 900
"""Dots of one frame; means are of all episodes."""
Side = Callable[[Episode], float | None]


def calibration_steps(found: Sequence[Arm]) -> list[int]:
    """The steps at which some arm has predictions to compare."""
    return sorted({step for arm in found for step in _steps(arm)})


def calibration_cards(found: Sequence[Arm]) -> list[Card]:
    """One card an arm with predictions; each holds a frame a step, of which one is visible."""
    return [_card(arm, _steps(arm)) for arm in found if _steps(arm)]


def _steps(arm: Arm) -> list[int]:
    return [step for step in arm.steps if _pairs(arm.episodes(step), _raw)]


def _raw(episode: Episode) -> float | None:
    return episode.predicted


def _corrected(episode: Episode) -> float | None:
    return episode.corrected


def _pairs(episodes: Sequence[Episode], side: Side) -> list[tuple[float, float]]:
    return [
        (p, e.measured) for e in episodes if (p := side(e)) is not None and e.measured is not None
    ]


def _card(arm: Arm, steps: Sequence[int]) -> Card:
    plot = _plot(arm, steps)
    plot.even()
    frames = [_frame(arm, step, plot, step == steps[-1]) for step in steps]
    said = "".join(
        f'<p class="note frame" data-step="{step}" {_hidden(step == steps[-1])}>'
        f"{html.escape(_said(arm, step))}</p>"
        for step in steps
    )
    plot.parts += frames
    rows = [row for step in steps for row in _figures(arm, step)]
    legend = (
        '<ul class="keys"><li><svg width="22" height="8" viewBox="0 0 22 8" style="width:22px">'
        '<path class="raw-line" d="M0 4h22"/></svg>raw prediction</li>'
    )
    if any(_pairs(arm.episodes(step), _corrected) for step in steps):
        legend += (
            f'<li class="{arm.css}"><span class="key" style="border-radius:50%"></span>'
            "corrected prediction</li>"
        )
    return Card(
        f"{arm.title}: predicted against measured",
        "Dots: evaluated episodes. Lines: means of equal numbers of episodes. On the diagonal, "
        "predictions are right on average.",
        f"{legend}</ul>{plot.svg()}{said}",
        ("step", "prediction", "episodes", "bias", "mean abs. error", "pairs in order"),
        rows,
        'data-frames=""',
    )


def _plot(arm: Arm, steps: Sequence[int]) -> Plot:
    pairs = [
        p for step in steps for side in (_raw, _corrected) for p in _pairs(arm.episodes(step), side)
    ]
    low = min(0.0, *(v for p in pairs for v in p))
    high = max(1.0, *(v for p in pairs for v in p))
    ends = ticks(low, high)
    return Plot(
        Axis("predicted reward", ends[0], ends[-1]),
        Axis("measured reward", ends[0], ends[-1]),
        f"Measured against predicted reward, {arm.title}",
    )


def _frame(arm: Arm, step: int, plot: Plot, visible: bool) -> str:
    episodes = arm.episodes(step)
    parts = []
    for side, name, cloud, line, dot in (
        (_raw, "raw", "cloud raw", "raw-line", "raw-mark"),
        (_corrected, "corrected", f"cloud {arm.css}", f"line {arm.css}", f"mark {arm.css}"),
    ):
        pairs = _pairs(episodes, side)
        if pairs:
            parts.append(plot.cloud(pairs[:: -(-len(pairs) // _MOST_DOTS)], cloud))
            parts.append(_means(pairs, name, plot, line, dot))
    return f'<g class="frame" data-step="{step}" {_hidden(visible)}>{"".join(parts)}</g>'


def _means(pairs: Sequence[tuple[float, float]], name: str, plot: Plot, line: str, dot: str) -> str:
    chunks = [c for c in np.array_split(np.array(sorted(pairs)), _BINS) if len(c)]
    means = [(*(float(v) for v in chunk.mean(axis=0)), len(chunk)) for chunk in chunks]
    places = [plot.place(p, m) for p, m, _ in means]
    through = "L".join(f"{x:g} {y:g}" for x, y in places)
    marks = (
        mark(x, y, dot, f"{name}: predicted {p:.3f}, measured {m:.3f}\n{count} episodes")
        for (x, y), (p, m, count) in zip(places, means, strict=True)
    )
    return f'<path class="{line}" d="M{through}"/>{"".join(marks)}'


def _figures(arm: Arm, step: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, side in (("raw", _raw), ("corrected", _corrected)):
        found = _fidelity(arm, step, side)
        if found is not None:
            shown = f"{found.bias:+.3f}", f"{found.error:.3f}", _share(found)
            rows.append((str(step), name, str(found.pairs), *shown))
    return rows


def _fidelity(arm: Arm, step: int, side: Side) -> Fidelity | None:
    return Fidelity.of([e.episodes for _, e in arm.evaluations(step)], side)


def _said(arm: Arm, step: int) -> str:
    raw, corrected = _fidelity(arm, step, _raw), _fidelity(arm, step, _corrected)
    if raw is None:
        return f"Step {step}: no predictions."
    text = f"Step {step}, {raw.pairs} episodes: bias {raw.bias:+.3f} raw"
    text += "" if corrected is None else f", {corrected.bias:+.3f} corrected"
    text += f"; mean absolute error {raw.error:.3f} raw"
    return text + ("." if corrected is None else f", {corrected.error:.3f} corrected.")


def _share(found: Fidelity) -> str:
    return f"{100 * found.ordered:.0f} %" if found.ordered == found.ordered else "–"


def _hidden(visible: bool) -> str:
    return "" if visible else "hidden"
