"""How many sandbox slots an agent needs, from the user's own numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from wmrl_envs.benchmarks.scaling.simulate import Outcome, simulate
from wmrl_envs.benchmarks.scaling.study import mean_cut_execution
from wmrl_envs.benchmarks.scaling.workload import Arm, Workload

__all__ = ["SlotRow", "at_rate", "load", "slot_rows", "slots_needed"]

ENOUGH = 0.95
"""Share of the speed with a slot for every execution that counts as not slowed down."""


@dataclass(frozen=True)
class SlotRow:
    """An arm with a number of slots.

    Attributes:
        arm: The arm.
        slots: Sandbox slots.
        rate: Trajectories a minute.
        share: Of the rate with a slot for every execution.
        outcome: Everything else.
    """

    arm: Arm
    slots: int
    rate: float
    share: float
    outcome: Outcome


def at_rate(workload: Workload, rate: float) -> Workload:
    """Scales GPU work so that generation and updates alone give a rate.

    Args:
        workload: The run.
        rate: Trajectories a minute, if nothing waited for grades.

    Raises:
        ValueError: The rate is not positive, or a single stream would be too slow for it.
    """
    if not rate > 0:
        raise ValueError(f"rate must be positive, got {rate!r}")
    wanted = 60 * workload.gpus * workload.trajectories / rate
    scaled = workload.scaled(wanted / workload.gpu_seconds("real"))
    # Its speed is the user's own, whatever a stream of the paper's agents could do.
    share = scaled.turn_gpu_seconds / workload.turn_gpu_seconds * workload.stream_share
    return scaled.with_(stream_share=min(float(workload.gpus), share))


def load(workload: Workload, rate: float, arm: Arm) -> float:
    """Slots that are busy on average at a rate: executions a second times their mean seconds."""
    share = {"real": 1.0, "wmrl": workload.anchors, "world-model": 0.0}[arm]
    return rate / 60 * workload.turns * share * mean_cut_execution(workload)


def slot_rows(
    workload: Workload, arm: Arm, slots: Sequence[int], measured: int, seed: int = 0
) -> list[SlotRow]:
    """An arm's speed with several numbers of slots."""
    most = simulate(workload, arm, measured=measured, seed=seed, slots=_enough_for_all(workload))
    rows = []
    for number in slots:
        found = simulate(workload, arm, measured=measured, seed=seed, slots=number)
        rate = 60 * workload.trajectories / found.step_seconds
        rows.append(SlotRow(arm, number, rate, most.step_seconds / found.step_seconds, found))
    return rows


def slots_needed(workload: Workload, arm: Arm, measured: int, seed: int = 0) -> int:
    """The fewest slots that give :data:`ENOUGH` of the speed with a slot for every execution."""
    low, high = 1, _enough_for_all(workload)
    while low < high:
        middle = (low + high) // 2
        [row] = slot_rows(workload, arm, [middle], measured, seed)
        low, high = (low, middle) if row.share >= ENOUGH else (middle + 1, high)
    return low


def _enough_for_all(workload: Workload) -> int:
    """As many slots as trajectories can be under way."""
    return workload.trajectories * (workload.staleness + 1)
