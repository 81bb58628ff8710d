"""The top of the page: one honest sentence, and a big number an arm."""

import html
from collections.abc import Sequence

from wmrl_envs.benchmarks.report.charts import cpu_seconds
from wmrl_envs.benchmarks.report.summaries import Arm, Point, scores, split_title

__all__ = ["headline", "tiles"]

Ends = list[tuple[Arm, Point, Point]]
"""Each arm with its first and its last score."""


def headline(found: Sequence[Arm], measured: Sequence[str]) -> str:
    """Who came first by how much, and whether that could be chance."""
    ends = _ends(found, measured)
    if not ends:
        return '<p class="lead">No score has been measured yet.</p>'
    ends.sort(key=lambda end: -end[2].mean)
    said = _first(ends, measured[0]) + _close(ends) + _early(ends) + _saved(ends) + _seeds(ends)
    return f'<p class="lead">{html.escape(said)}</p>'


def _ends(found: Sequence[Arm], measured: Sequence[str]) -> Ends:
    lines = [(arm, scores(arm, measured[0])) for arm in found] if measured else []
    return [(arm, points[0], points[-1]) for arm, points in lines if points]


def _first(ends: Ends, split: str) -> str:
    arm, start, last = ends[0]
    if start.step == last.step:
        return f"{arm.title} scores {last.mean:.2f} on {split_title(split)}."
    way = f"from {start.mean:.2f} to {last.mean:.2f} on {split_title(split)}"
    if len(ends) == 1:
        return f"{arm.title} went {way} in {last.step:,} policy updates."
    others = ", ".join(f"{a.title} {p.mean:.2f}" for a, _, p in ends[1:])
    return f"{arm.title} came out highest, {way}; the others: {others}."


def _close(ends: Ends) -> str:
    first = ends[0][2]
    others = [(a, p) for a, _, p in ends[1:] if p.high >= first.low]
    if len(ends) == 1:
        return ""
    if not others:
        return " Its 95 % interval lies above those of all others."
    names = ", ".join(a.title for a, _ in others)
    return f" Its 95 % interval overlaps that of {names}, so that order may be chance."


def _early(ends: Ends) -> str:
    """Which arms are shown earlier in training than others, so that they may still rise."""
    last = max(point.step for _, _, point in ends)
    early = [f"{arm.title} (step {p.step})" for arm, _, p in ends if p.step < last]
    if not early:
        return ""
    return f" Not at the same step: {', '.join(early)} beside step {last:,} of the others."


def _saved(ends: Ends) -> str:
    """WMRL beside real execution, where both were run."""
    last = {arm.name: point for arm, _, point in ends}
    if not {"real", "wmrl"} <= last.keys():
        return ""
    ours, real = last["wmrl"].executions, last["real"].executions
    if not ours or not real or last["wmrl"].step != last["real"].step:
        return ""
    return f" WMRL executed {real / ours:.1f} times fewer solutions than real execution."


def _seeds(ends: Ends) -> str:
    most = max(point.runs for _, _, point in ends)
    if most < 2:
        return " One seed: another may turn out otherwise."
    return f" Means of {most} seeds."


def tiles(found: Sequence[Arm], measured: Sequence[str]) -> str:
    """One tile an arm."""
    ends = _ends(found, measured)
    further = measured[1:2]
    return f'<div class="tiles">{"".join(_tile(*e, measured, further) for e in ends)}</div>'


def _tile(
    arm: Arm, start: Point, last: Point, measured: Sequence[str], further: Sequence[str]
) -> str:
    rows = [("after step", f"{last.step:,}")] if start.step != last.step else []
    if start.step != last.step:
        rows.append(("change", f"{last.mean - start.mean:+.3f}".replace("-", "−")))
    for split in further:
        points = scores(arm, split)
        rows += [(split_title(split), f"{points[-1].mean:.3f}")] if points else []
    spent, time = last.executions, cpu_seconds(last)
    rows += [("executions", f"{spent:,.0f}")] if spent is not None else []
    rows += [("CPU seconds", f"{time:,.0f}")] if time is not None else []
    listed = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in rows)
    interval = f"95 %: {last.low:.3f} to {last.high:.3f}" if last.low == last.low else "no interval"
    return (
        f'<article class="tile {arm.css}"><div class="name"><span class="key"></span>'
        f'{html.escape(arm.title)}</div><p class="big">{last.mean:.3f}</p><p class="small">'
        f"{html.escape(split_title(measured[0]))}; {interval}</p><dl>{listed}</dl></article>"
    )
