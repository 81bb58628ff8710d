"""``wmrl bench scaling``: the paper's runs as a table, sentences and plots."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.scaling.study import (
    ARMS,
    VARIED,
    Effort,
    Sensitivity,
    gpu_hours,
    match,
    mean_cut_execution,
    sensitivities,
)
from wmrl_envs.benchmarks.scaling.workload import (
    ASSUMED,
    COLOURS,
    PUBLISHED,
    PUBLISHED_HOURS,
    TITLES,
    Arm,
    Workload,
    agent,
)
from wmrl_envs.benchmarks.throughput.report import Comparison

__all__ = ["Study", "plot_scaling", "scaling_comparison", "study_paper"]

_PACKAGES = ("wmrl-envs", "numpy", "simpy")
Hours = Mapping[str, Mapping[Arm, float]]


@dataclass(frozen=True)
class Study:
    """Everything that was simulated about the paper's runs.

    Attributes:
        stated: Agent -> arm -> GPU-hours from the stated numbers.
        matched: The same after the two fits.
        loose: The same after two fits where updates take what is finished first.
        workloads: Agent -> the numbers after the fits.
        sensitivity: What moves the 4B agent's ratio, the strongest first.
        seconds: Mean execution times of a sweep, the 4B agent.
        sweep: Arm -> GPU-hours at each of them.
        effort: How long each was simulated.
    """

    stated: Hours
    matched: Hours
    loose: Hours
    workloads: Mapping[str, Workload]
    sensitivity: Sequence[Sensitivity]
    seconds: Sequence[float]
    sweep: Mapping[Arm, Sequence[float]]
    effort: Effort


def study_paper(quick: bool, told: Callable[[str], None]) -> Study:
    """Simulates the paper's runs.

    Args:
        quick: The 4B agent alone, one seed, four numbers varied.
        told: Is told what comes next.
    """
    effort = Effort(10, 1) if quick else Effort(60, 2)
    sizes = ("4B",) if quick else tuple(PUBLISHED_HOURS)
    fits: dict[bool, dict[str, Workload]] = {True: {}, False: {}}
    for in_order, fitted in fits.items():
        for size in sizes:
            told(f"fitting two numbers, {size}")
            fitted[size] = match(size, effort, in_order)
    workloads = fits[True]
    names = list(VARIED)[:4] if quick else list(VARIED)
    seconds = (3.0, 12.0, 48.0) if quick else (1.0, 3.0, 6.0, 12.0, 24.0, 48.0, 96.0)
    told("execution times")
    return Study(
        {size: {arm: gpu_hours(agent(size), arm, effort) for arm in ARMS} for size in sizes},
        {size: {arm: gpu_hours(workloads[size], arm, effort) for arm in ARMS} for size in sizes},
        {size: {arm: gpu_hours(fits[False][size], arm, effort) for arm in ARMS} for size in sizes},
        workloads,
        sensitivities(workloads["4B"], names, effort, told),
        seconds,
        {
            arm: [
                gpu_hours(workloads["4B"].with_(execution_seconds=s), arm, effort) for s in seconds
            ]
            for arm in ARMS
        },
        effort,
    )


def scaling_comparison(found: Study, command: Sequence[str]) -> Comparison:
    """The table: simulated GPU-hours beside the published ones."""
    return Comparison(
        title="GPU-hours of the paper's runs, simulated",
        columns=("agent", "arm", "numbers", "GPU-hours", "published", "simulated / published"),
        rows=[
            (
                size,
                arm,
                name,
                round(hours[arm]),
                published := PUBLISHED_HOURS[size][arm],
                hours[arm] / published,
            )
            for name, side in _sides(found)
            for size, hours in side.items()
            for arm in ARMS
        ],
        findings=[
            *_stated(found),
            *_fitted(found),
            *_agents(found),
            *_pays(found),
            *_moves(found),
        ],
        record={
            **provenance(command, _PACKAGES),
            "published_settings": dict(PUBLISHED),
            "assumed_settings": dict(ASSUMED),
            "published_hours": {k: dict(v) for k, v in PUBLISHED_HOURS.items()},
            "figures": _record(found),
        },
    )


def _sides(found: Study) -> tuple[tuple[str, Hours], ...]:
    return (
        ("stated", found.stated),
        ("fitted, in order", found.matched),
        ("fitted, first finished", found.loose),
    )


def _stated(found: Study) -> list[str]:
    hours, published = found.stated["4B"], PUBLISHED_HOURS["4B"]
    seconds = agent("4B").execution_seconds
    return [
        f"The stated numbers do not land: at 4B real execution costs {hours['real']:,.0f} "
        f"GPU-hours instead of {published['real']:g}, WMRL {hours['wmrl']:,.0f} instead of "
        f"{published['wmrl']:g}. Mean execution time decides both; {seconds:g} s "
        f"is stated, as nobody published it."
    ]


def _fitted(found: Study) -> list[str]:
    said = []
    for size, workload in found.workloads.items():
        held = mean_cut_execution(workload)
        wmrl, loose = found.matched[size]["wmrl"], found.loose[size]["wmrl"]
        published = PUBLISHED_HOURS[size]
        said.append(
            f"{size}: real execution costs the published {published['real']:g} GPU-hours if an "
            f"execution holds one of 3 slots a GPU for {held:.1f} s on average (fitted), and the "
            f"pure world model {published['world-model']:g} if GPU work is "
            f"{_factor(size, workload):.2f} times the stated (fitted). WMRL then costs {wmrl:.0f} "
            f"(predicted) if updates wait for slow groups, {loose:.0f} if they take what is "
            f"finished first; published: {published['wmrl']:g}"
            f"{', between both' if loose < published['wmrl'] < wmrl else ''}."
        )
    return said


def _factor(size: str, workload: Workload) -> float:
    return workload.turn_gpu_seconds / agent(size).turn_gpu_seconds


def _agents(found: Study) -> list[str]:
    if "9B" not in found.stated:
        return []
    small, large = PUBLISHED_HOURS["4B"], PUBLISHED_HOURS["9B"]
    return [
        f"GPU work in proportion to parameters (2.25) overshoots the 9B agent's world-model run: "
        f"{found.stated['9B']['world-model']:.0f} instead of {large['world-model']:g}. The "
        f"published runs differ by {large['world-model'] / small['world-model']:.2f} alone, so "
        f"that their GPU work did not grow with the parameters."
    ]


def _pays(found: Study) -> list[str]:
    """From which execution time on WMRL costs less, of those that were tried."""
    both = zip(found.seconds, found.sweep["real"], found.sweep["wmrl"], strict=True)
    cheaper = [(seconds, real / wmrl) for seconds, real, wmrl in both if wmrl < real]
    if not cheaper:
        return ["WMRL costs more at every mean execution time that was tried."]
    (first, ratio), (last, most) = cheaper[0], cheaper[-1]
    before = [seconds for seconds in found.seconds if seconds < first]
    said = f"With the 4B agent's fitted numbers WMRL costs less from executions of {first:g} s on "
    said += f"({ratio:.1f} times; at {last:g} s {most:.1f} times)"
    return [said + (f"; at {before[-1]:g} s it does not pay." if before else ".")]


def _moves(found: Study) -> list[str]:
    base = found.matched["4B"]
    first, *others = found.sensitivity
    none = [VARIED[s.name] for s in others if s.swing < 1.02]
    said = [
        f"What moves the 4B ratio most is {VARIED[first.name]}: from "
        f"{base['real'] / base['wmrl']:.1f} to {first.ratios[0]:.1f} when halved and "
        f"{first.ratios[1]:.1f} when doubled; then "
        + ", ".join(f"{VARIED[s.name]} ({s.swing:.1f}×)" for s in others[:3])
        + "."
    ]
    return said + ([f"Without effect on the ratio (below 2 %): {', '.join(none)}."] if none else [])


def _record(found: Study) -> dict[str, Any]:
    return {
        "stated": found.stated,
        "matched": found.matched,
        "loose": found.loose,
        "workloads": {
            size: {**asdict(w), "mean_cut_execution": mean_cut_execution(w)}
            for size, w in found.workloads.items()
        },
        "sensitivity": [
            {**asdict(s), "ratios": s.ratios, "swing": s.swing} for s in found.sensitivity
        ],
        "sweep": {"execution_seconds": found.seconds, **found.sweep},
        "effort": asdict(found.effort),
    }


def plot_scaling(found: Study, path: Path) -> None:
    """Draws GPU-hours against trajectories and against execution time, and what moves the ratio.

    Args:
        found: What was simulated.
        path: The PNG.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 4.4), layout="constrained")
    _draw_growth(found, *(axes := figure.subplots(1, 3))[:1])
    _draw_sweep(found, axes[1])
    _draw_tornado(found, axes[2])
    figure.savefig(path, dpi=140)


def _draw_growth(found: Study, axis: Any) -> None:
    for size, style in zip(found.matched, ("-", "--"), strict=False):
        workload = found.workloads[size]
        total = workload.steps * workload.trajectories / 1000
        for arm, hours in found.matched[size].items():
            label = f"{size} {TITLES[arm]}"
            axis.plot([0, total], [0, hours], style, color=COLOURS[arm], lw=1.8, label=label)
            published = PUBLISHED_HOURS[size][arm]
            face = COLOURS[arm] if style == "-" else "white"
            axis.plot([total], [published], "o", mfc=face, mec=COLOURS[arm], ms=6, zorder=3)
    axis.set(
        title="Cost of a run, in order (dots: published)",
        xlabel="thousand trajectories",
        ylabel="GPU-hours",
    )
    wall = axis.secondary_yaxis("right", functions=(lambda h: h / 8, lambda h: h * 8))
    wall.set_ylabel("wall hours on 8 GPUs")
    axis.legend(fontsize=7.5)
    axis.grid(alpha=0.25)


def _draw_sweep(found: Study, axis: Any) -> None:
    for arm, hours in found.sweep.items():
        axis.loglog(found.seconds, hours, "o-", color=COLOURS[arm], ms=4, label=TITLES[arm])
    axis.axhline(PUBLISHED_HOURS["4B"]["real"], color="0.5", ls=":", lw=1)
    axis.set(
        title="4B: where execution begins to cost",
        xlabel="mean execution time, s (log)",
        ylabel="GPU-hours (log)",
    )
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter("{x:g}")
    axis.set_yticks([250, 500, 1000, 2000, 4000], minor=False)
    axis.yaxis.set_minor_formatter("")
    axis.legend(fontsize=8)
    axis.grid(alpha=0.25)


def _draw_tornado(found: Study, axis: Any) -> None:
    base = found.matched["4B"]["real"] / found.matched["4B"]["wmrl"]
    rows = list(reversed(found.sensitivity))
    for i, row in enumerate(rows):
        for ratio, colour in zip(row.ratios, ("#7fb2d4", "#0b6aa8"), strict=True):
            axis.barh(i, ratio - base, left=base, color=colour, height=0.62)
    axis.set_yticks(range(len(rows)), [VARIED[r.name] for r in rows], fontsize=8)
    axis.axvline(base, color="0.2", lw=1)
    axis.set(title="4B: what moves the ratio", xlabel="real / WMRL; light: halved, dark: doubled")
    axis.grid(alpha=0.25, axis="x")
