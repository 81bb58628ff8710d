"""Bars and tables by arm: where time went, what became of episodes, success by initial state."""

import html
from collections.abc import Sequence

from wmrl_envs.benchmarks.report.charts import Card, table
from wmrl_envs.benchmarks.report.runs import seconds
from wmrl_envs.benchmarks.report.success_files import SUCCESS_SPLITS
from wmrl_envs.benchmarks.report.summaries import Arm
from wmrl_envs.benchmarks.report.svg import short

__all__ = ["stacked", "status_chart", "success_table", "time_chart"]

_KINDS = ("execution", "world_model", "generation", "update")


def success_table(found: Sequence[Arm]) -> Card | None:
    """Success of repeated rollouts: the mean, any and all of each initial state's."""
    heads, rows = ["arm"], [[arm.title] for arm in found]
    for split in SUCCESS_SPLITS.values():
        rates = [_success_rates(arm, split) for arm in found]
        if any(rates):
            seen = "seen" if split == "in_domain" else "held-out"
            heads += [f"{seen} {name}" for name in ("Avg", "Best", "All")]
            for row, values in zip(rows, rates, strict=True):
                row += [f"{100 * value:.1f}" for value in values] or ["–"] * 3
    if len(heads) == 1:
        return None
    note = (
        "Percent, after the last step, from initial states of training (seen) and others. Best: "
        "states with at least one success; All: states whose rollouts all succeed."
    )
    return Card("Success from each initial state", note, table(heads, rows), wide=True)


def _success_rates(arm: Arm, split: str) -> list[float]:
    rates = []
    for run in arm.runs:
        states: dict[str, list[float]] = {}
        for episode in run.evaluations[-1].episodes if run.evaluations else ():
            if episode.split == split and episode.measured is not None:
                states.setdefault(episode.task, []).append(episode.measured)
        if states:
            kinds = [(sum(v) / len(v), max(v), min(v)) for v in states.values()]
            rates.append([sum(column) / len(kinds) for column in zip(*kinds, strict=True)])
    return [sum(column) / len(rates) for column in zip(*rates, strict=True)]


def time_chart(found: Sequence[Arm]) -> Card | None:
    """Stacked bars: where the seconds of a run went."""
    spent = {}
    for arm in found:
        ends = [run.evaluations[-1].costs for run in arm.runs if run.evaluations]
        kinds = {k: v for costs in ends for k, v in seconds(costs).items()}
        if kinds:
            spent[arm] = {k: sum(costs.get(k, 0.0) for costs in ends) / len(ends) for k in kinds}
    names = [k for k in _KINDS if any(k in s for s in spent.values())]
    names += sorted({k for s in spent.values() for k in s} - set(names))
    if not any(sum(s.values()) for s in spent.values()):
        return None
    rows = [(arm, [kinds.get(name, 0.0) for name in names]) for arm, kinds in spent.items()]
    return Card(
        "Where the time went, CPU seconds a run",
        "The world model's log is part of execution. Executions for evaluation count nowhere.",
        stacked(rows, names, "s"),
        ("arm", *[name.replace("_", " ") for name in names], "all"),
        [
            (arm.title, *(f"{v:,.1f}" for v in values), f"{sum(values):,.1f}")
            for arm, values in rows
        ],
    )


def status_chart(found: Sequence[Arm], last: bool) -> Card | None:
    """Stacked bars: what became of the episodes of the first or the last evaluation."""
    counts: dict[Arm, dict[str, int]] = {}
    for arm in found:
        for run in arm.runs:
            for evaluation in run.evaluations[-1:] if last else run.evaluations[:1]:
                for episode in evaluation.episodes:
                    if episode.status:
                        kinds = counts.setdefault(arm, {})
                        kinds[episode.status] = kinds.get(episode.status, 0) + 1
    if not counts:
        return None
    totals: dict[str, int] = {}
    for kinds in counts.values():
        for name, count in kinds.items():
            totals[name] = totals.get(name, 0) + count
    names = sorted(totals, key=lambda name: (name not in ("valid", "success"), -totals[name]))
    rows = [
        (arm, [100 * kinds.get(name, 0) / sum(kinds.values()) for name in names])
        for arm, kinds in counts.items()
    ]
    when = "after the last step" if last else "before the first step"
    return Card(
        f"What became of episodes, {when}",
        "Percent of evaluated episodes, training and held-out.",
        stacked(rows, names, "%", full=100.0),
        ("arm", *(name.replace("_", " ") for name in names)),
        [(arm.title, *(f"{v:.1f} %" for v in values)) for arm, values in rows],
    )


def stacked(
    rows: Sequence[tuple[Arm, Sequence[float]]],
    names: Sequence[str],
    unit: str,
    full: float | None = None,
) -> str:
    """Horizontal stacked bars with a legend."""
    left, width, height = 104.0, 440.0, 40.0 * len(rows) + 6
    most = full or max(sum(values) for _, values in rows) or 1.0
    scale = (width - left - (0 if full else 52)) / most
    parts = []
    for number, (arm, values) in enumerate(rows):
        x, y = left, 40.0 * number + 5
        name = html.escape(arm.short)
        parts.append(
            f'<text class="label {arm.css}" x="{left - 10}" y="{y + 19}" text-anchor="end">'
            f"{name}</text>"
        )
        for i, value in enumerate(values):
            wide = value * scale
            if wide > 0.3:
                tip = html.escape(
                    f"{arm.title}\n{names[i].replace('_', ' ')}: {value:,.1f} {unit}", quote=True
                )
                parts.append(
                    f'<rect class="bar s{i % 7}" x="{x:.1f}" y="{y}" width="{wide:.1f}" '
                    f'height="28" rx="3" data-x="{x + wide / 2:.1f}" data-y="{y + 14}" '
                    f'data-tip="{tip}"/>'
                )
            x += wide
        if not full:
            parts.append(
                f'<text x="{x + 7:.1f}" y="{y + 19}">{short(round(sum(values)))} {unit}</text>'
            )
    legend = "".join(
        f'<li class="s{i % 7}"><span class="key"></span>{html.escape(name.replace("_", " "))}</li>'
        for i, name in enumerate(names)
    )
    return (
        f'<ul class="keys">{legend}</ul><svg class="chart" viewBox="0 0 {width:g} {height:g}" '
        f'role="img" tabindex="0" aria-label="stacked bars, by arm">{"".join(parts)}</svg>'
    )
