"""Contenders measured in turns, so that whatever else the machine does falls on all alike."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Cost", "Samples", "interleave", "repeated"]


@dataclass(frozen=True)
class Cost:
    """What one round of a contender cost.

    Attributes:
        wall_s: Wall seconds.
        cpu_s: CPU seconds, those of child processes included where the contender knows them.
        units: How many jobs, steps or predictions that was.
        peak_mb: Peak memory in MiB; NaN where it was not measured.
    """

    wall_s: float
    cpu_s: float
    units: float = 1.0
    peak_mb: float = float("nan")


@dataclass(frozen=True)
class Samples:
    """The rounds of one contender.

    Example:
        >>> samples = Samples((Cost(2.0, 1.0, units=4), Cost(4.0, 1.0, units=4)))
        >>> samples.cpu_per_unit, samples.wall_quantile(0.5), samples.rate
        (0.25, 0.75, 1.3333333333333333)
    """

    costs: tuple[Cost, ...]

    @property
    def cpu_per_unit(self) -> float:
        """Median CPU seconds a unit."""
        return float(np.median([cost.cpu_s / cost.units for cost in self.costs]))

    @property
    def rate(self) -> float:
        """Units a wall second over all rounds."""
        return sum(cost.units for cost in self.costs) / sum(cost.wall_s for cost in self.costs)

    @property
    def peak_mb(self) -> float:
        """The highest peak memory of any round, in MiB; NaN if none was measured."""
        return float(np.fmax.reduce([cost.peak_mb for cost in self.costs]))

    def wall_quantile(self, q: float) -> float:
        """A quantile of the wall seconds a unit."""
        return float(np.quantile([cost.wall_s / cost.units for cost in self.costs], q))

    def record(self) -> dict[str, Any]:
        """The figures as a JSON-able record; one that was not measured is left out."""
        figures = {
            "rounds": len(self.costs),
            "wall_p50_s": self.wall_quantile(0.5),
            "wall_p95_s": self.wall_quantile(0.95),
            "cpu_s": self.cpu_per_unit,
            "per_second": self.rate,
            "peak_mb": self.peak_mb,
        }
        return {name: figure for name, figure in figures.items() if figure == figure}


def interleave(
    contenders: Mapping[str, Callable[[], Any]], rounds: int, *, warmup: int = 1
) -> dict[str, Samples]:
    """Runs all contenders in turns and measures each round.

    Args:
        contenders: Name to a call that does one round. It returns its own :class:`Cost`, or the
            number of units that it did, or None for one unit; in the latter two cases wall and CPU
            time of this process are taken around the call.
        rounds: Measured rounds of each.
        warmup: Rounds before those, not measured.

    Raises:
        ValueError: ``rounds`` is below 1 or ``warmup`` below 0.
    """
    if rounds < 1 or warmup < 0:
        raise ValueError(f"need rounds >= 1 and warmup >= 0, got {rounds!r} and {warmup!r}")
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for turn in range(warmup + rounds):
        for name in _order(list(contenders), turn):
            cost = _measured(contenders[name])
            if turn >= warmup:
                costs[name].append(cost)
    return {name: Samples(tuple(found)) for name, found in costs.items()}


def repeated(call: Callable[[], Any], times: int = 1) -> Callable[[], int]:
    """A round of so many calls, each one unit, whatever they return.

    Example:
        >>> repeated(lambda: 0.5, times=3)()
        3
    """

    def calls() -> int:
        for _ in range(times):
            call()
        return times

    return calls


def _order(names: Sequence[str], turn: int) -> list[str]:
    """Another contender begins each round: none always runs behind the same neighbour."""
    at = turn % max(len(names), 1)
    return [*names[at:], *names[:at]]


def _measured(call: Callable[[], Any]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    cost = Cost(time.perf_counter() - wall, time.process_time() - cpu)
    if isinstance(result, Cost):
        return result
    return cost if result is None else Cost(cost.wall_s, cost.cpu_s, float(result))
