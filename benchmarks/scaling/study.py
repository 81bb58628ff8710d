"""The published GPU-hours beside simulated ones, and which assumption moves them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wmrl_envs.benchmarks.scaling.simulate import simulate
from wmrl_envs.benchmarks.scaling.workload import PUBLISHED_HOURS, Arm, Workload, agent

__all__ = [
    "ARMS",
    "VARIED",
    "Effort",
    "Sensitivity",
    "gpu_hours",
    "match",
    "mean_cut_execution",
    "sensitivities",
]

ARMS: tuple[Arm, ...] = ("real", "wmrl", "world-model")
VARIED: Mapping[str, str] = {
    "execution_seconds": "mean execution time",
    "slots_per_gpu": "sandbox slots a GPU",
    "turns": "graded turns a trajectory",
    "turn_gpu_seconds": "generation work a turn",
    "update_gpu_seconds": "update work a trajectory",
    "grade_gpu_seconds": "work of a world-model grade",
    "execution_spread": "spread of execution times",
    "staleness": "staleness bound",
    "anchors": "share of anchors",
    "anchor_cap": "cap on anchors at once",
    "stream_share": "speed of a single stream",
    "gpus": "GPUs (slots with them)",
    "in_order": "groups in order (off, on)",
}
"""What is halved and doubled (a switch: off and on), one at a time."""


@dataclass(frozen=True)
class Effort:
    """How long to simulate.

    Attributes:
        measured: Steps.
        seeds: Runs that are averaged.
    """

    measured: int = 60
    seeds: int = 3


def gpu_hours(workload: Workload, arm: Arm, effort: Effort) -> float:
    """GPU-hours of a whole run, the mean over seeds."""
    outcomes = (simulate(workload, arm, measured=effort.measured, seed=s) for s in _seeds(effort))
    return float(np.mean([outcome.gpu_hours for outcome in outcomes]))


def _seeds(effort: Effort) -> range:
    return range(effort.seeds)


def match(size: str, effort: Effort, in_order: bool = True) -> Workload:
    """Fits two numbers to two published ones, so that the third is a prediction.

    All GPU work is scaled until the pure world model costs what is published, then the mean
    execution time is chosen so that real execution does. WMRL's row is not looked at.

    Args:
        size: ``4B`` or ``9B``.
        effort: How long to simulate.
        in_order: See :class:`Workload`.
    """
    published, stated = PUBLISHED_HOURS[size], agent(size).with_(in_order=in_order)
    factor = _root(
        lambda f: gpu_hours(stated.scaled(f), "world-model", effort), published["world-model"], 1.0
    )
    scaled = stated.scaled(factor)
    seconds = _root(
        lambda m: gpu_hours(scaled.with_(execution_seconds=m), "real", effort),
        published["real"],
        scaled.execution_seconds,
    )
    return scaled.with_(execution_seconds=seconds)


def _root(function: Callable[[float], float], wanted: float, start: float) -> float:
    """Where a function that grows about linearly takes a value, to three thousandths."""
    value = start
    for _ in range(12):
        found = function(value)
        if abs(found / wanted - 1) < 3e-3:
            break
        value *= wanted / found
    return value


def mean_cut_execution(workload: Workload) -> float:
    """Mean seconds that an execution holds its slot, the limit applied.

    Example:
        >>> mean_cut_execution(Workload(execution_seconds=5.0, execution_spread=0.0))
        5.0
    """
    mean, spread, limit = (
        workload.execution_seconds,
        workload.execution_spread,
        workload.time_limit,
    )
    if spread == 0:
        return min(mean, limit)
    centre = math.log(mean) - spread**2 / 2
    reach = (math.log(limit) - centre) / spread
    return mean * _normal(reach - spread) + limit * (1 - _normal(reach))


def _normal(x: float) -> float:
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@dataclass(frozen=True)
class Sensitivity:
    """What halving and doubling one number does.

    Attributes:
        name: The number.
        values: It halved and doubled.
        real: GPU-hours of real execution at both.
        wmrl: GPU-hours of WMRL at both.
    """

    name: str
    values: tuple[float, float]
    real: tuple[float, float]
    wmrl: tuple[float, float]

    @property
    def ratios(self) -> tuple[float, float]:
        """Real over WMRL at both."""
        return self.real[0] / self.wmrl[0], self.real[1] / self.wmrl[1]

    @property
    def swing(self) -> float:
        """How far the ratio moves between both, as a factor of at least 1."""
        low, high = sorted(self.ratios)
        return high / low


def sensitivities(
    workload: Workload, names: Sequence[str], effort: Effort, told: Callable[[str], None]
) -> list[Sensitivity]:
    """Halves and doubles numbers one at a time; the one that moves the ratio most comes first.

    Args:
        workload: What is varied.
        names: Fields of it.
        effort: How long to simulate.
        told: Is told each name before its turn.
    """
    found = []
    for name in names:
        told(VARIED.get(name, name))
        both = _halved_and_doubled(getattr(workload, name))
        variants = [workload.with_(**{name: value}) for value in both]
        real, wmrl = (
            tuple(gpu_hours(variant, arm, effort) for variant in variants)
            for arm in ("real", "wmrl")
        )
        found.append(Sensitivity(name, both, (real[0], real[1]), (wmrl[0], wmrl[1])))
    return sorted(found, key=lambda s: -s.swing)


def _halved_and_doubled(value: float) -> tuple[float, float]:
    if isinstance(value, bool):
        return False, True
    if isinstance(value, int):
        return max(1, value // 2), 2 * value
    return value / 2, value * 2
