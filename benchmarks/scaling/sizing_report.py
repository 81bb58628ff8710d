"""``wmrl bench scaling --rate``: slots for a user's own agent as a table, sentences and a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.scaling.sizing import (
    ENOUGH,
    SlotRow,
    at_rate,
    load,
    slot_rows,
    slots_needed,
)
from wmrl_envs.benchmarks.scaling.study import mean_cut_execution
from wmrl_envs.benchmarks.scaling.workload import COLOURS, TITLES, Arm, Workload
from wmrl_envs.benchmarks.throughput.report import Comparison

__all__ = ["Sizing", "plot_sizing", "size_slots", "sizing_comparison"]

_PACKAGES = ("wmrl-envs", "numpy", "simpy")
_ARMS: tuple[Arm, Arm] = ("real", "wmrl")


@dataclass(frozen=True)
class Sizing:
    """What was simulated for a user's own agent.

    Attributes:
        workload: The numbers.
        rate: Trajectories a minute that the GPUs could give.
        needed: Arm -> slots.
        rows: Speeds at several numbers of slots.
        asked: The slots that the user has, if that was said.
    """

    workload: Workload
    rate: float
    needed: Mapping[Arm, int]
    rows: Sequence[SlotRow]
    asked: int | None


def size_slots(workload: Workload, rate: float, asked: int | None, measured: int) -> Sizing:
    """Finds how many slots an agent needs, with real execution and with WMRL.

    Args:
        workload: The user's numbers.
        rate: Trajectories a minute, if nothing waited for grades.
        asked: Slots that the user has; None if that is open.
        measured: Steps to simulate.

    Raises:
        ValueError: A number is out of range.
    """
    if asked is not None and asked < 1:
        raise ValueError(f"slots must be at least 1, got {asked!r}")
    scaled = at_rate(workload, rate)
    needed = {arm: slots_needed(scaled, arm, measured) for arm in _ARMS}
    rows = []
    for arm in _ARMS:
        tried = {max(1, round(needed[arm] * f)) for f in (0.25, 0.5, 0.75, 1.0, 1.5)}
        tried |= {asked} if asked is not None else set()
        rows += slot_rows(scaled, arm, sorted(tried), measured)
    return Sizing(scaled, rate, needed, rows, asked)


def sizing_comparison(found: Sizing, command: Sequence[str]) -> Comparison:
    """The table: speed against slots, and the answer."""
    return Comparison(
        title="Sandbox slots for your agent",
        columns=("arm", "slots", "trajectories / min", "of full speed", "slots busy", "wait, s"),
        rows=[
            (
                row.arm,
                row.slots,
                row.rate,
                f"{100 * row.share:.0f} %",
                f"{100 * row.outcome.slot_use:.0f} %",
                row.outcome.wait_seconds,
            )
            for row in found.rows
        ],
        findings=[_need(found, "real"), _need(found, "wmrl"), *_have(found)],
        record={
            **provenance(command, _PACKAGES),
            "workload": asdict(found.workload),
            "rate": found.rate,
            "needed": dict(found.needed),
            "figures": [asdict(row) for row in found.rows],
        },
    )


def _need(found: Sizing, arm: Arm) -> str:
    busy = load(found.workload, found.rate, arm)
    return (
        f"{TITLES[arm]} needs {found.needed[arm]} slots to run at {100 * ENOUGH:.0f} % of full "
        f"speed; at your rate {busy:.1f} executions run at once on average "
        f"({found.rate:g} trajectories a minute × {found.workload.turns} turns × "
        f"{mean_cut_execution(found.workload):.1f} s"
        + (f" × {found.workload.anchors:g} anchors)." if arm == "wmrl" else ").")
    )


def _have(found: Sizing) -> list[str]:
    if found.asked is None:
        return []
    shares = {row.arm: row.share for row in found.rows if row.slots == found.asked}
    return [
        f"With your {found.asked} slots real execution runs at {100 * shares['real']:.0f} % of "
        f"full speed, WMRL at {100 * shares['wmrl']:.0f} %."
    ]


def plot_sizing(found: Sizing, path: Path) -> None:
    """Draws speed against slots.

    Args:
        found: What was simulated.
        path: The PNG.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axis = figure.subplots()
    for arm in _ARMS:
        rows = [row for row in found.rows if row.arm == arm]
        axis.plot(
            [r.slots for r in rows],
            [100 * r.share for r in rows],
            "o-",
            color=COLOURS[arm],
            label=TITLES[arm],
        )
        axis.axvline(found.needed[arm], color=COLOURS[arm], ls=":", lw=1)
    axis.axhline(100 * ENOUGH, color="0.6", lw=1)
    axis.set(xlabel="sandbox slots (log)", ylabel="percent of full speed", xscale="log")
    axis.legend()
    axis.grid(alpha=0.25)
    figure.savefig(path, dpi=140)
