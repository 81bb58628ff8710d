"""From runs to figures by arm: means over seeds with intervals, and how good predictions are."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Final

import numpy as np

from wmrl_envs.agents.evaluation import clustered_interval
from wmrl_envs.benchmarks.autoresearch.arms import ARMS
from wmrl_envs.benchmarks.report.episodes import Episode, number
from wmrl_envs.benchmarks.report.runs import Evaluation, RunData, executions

__all__ = ["Arm", "Fidelity", "Point", "arms", "scores", "series", "splits"]

_SHORT: Final = MappingProxyType(
    {
        "real": "real",
        "anchors": "anchors alone",
        "world-model": "world model",
        "mixture": "mixture",
        "denoise": "denoising",
        "debias": "debiasing",
        "wmrl": "WMRL",
        "rectified": "rectified",
    }
)
SPLITS: Final = MappingProxyType(
    {
        "test": "held-out tasks",
        "train": "training tasks",
        "out_of_distribution": "held-out initial states",
        "in_domain": "training initial states",
    }
)
_HELD_OUT: Final = ("test", "held_out", "out_of_distribution", "ood", "eval")


@dataclass(frozen=True, eq=False)
class Arm:
    """The runs of one arm.

    Attributes:
        name: Its name on the command line.
        title: Its name in sentences.
        short: Its name beside a line.
        colour: The number of its colour and shape, the same in all charts.
        runs: One a seed.
    """

    name: str
    title: str
    short: str
    colour: int
    runs: tuple[RunData, ...]

    @property
    def css(self) -> str:
        """The class that sets its colour."""
        return f"arm{self.colour % 8}"

    @property
    def shape(self) -> int:
        """The shape of its marks, see :func:`svg.mark`."""
        return (0, 1, 2, 4, 1, 2, 3, 4)[self.colour % 8]

    @property
    def steps(self) -> list[int]:
        """The steps of its evaluations."""
        return sorted({e.step for run in self.runs for e in run.evaluations})

    def evaluations(self, step: int) -> list[tuple[RunData, Evaluation]]:
        """The evaluations after a step, one a run that has it."""
        return [(run, e) for run in self.runs for e in run.evaluations if e.step == step]

    def episodes(self, step: int) -> list[Episode]:
        """The episodes of all its evaluations after a step."""
        return [episode for _, e in self.evaluations(step) for episode in e.episodes]


def arms(runs: Iterable[RunData]) -> list[Arm]:
    """Groups runs by arm; known arms have a colour for ever, others take what is free."""
    groups: dict[str, list[RunData]] = {}
    for run in runs:
        groups.setdefault(run.arm, []).append(run)
    known = list(ARMS)
    free = [i for i in (6, 2, 1, 5, 0, 3, 4, 7) if known[i] not in groups] or [0]
    others = [name for name in groups if name not in ARMS]
    colours = {name: free[i % len(free)] for i, name in enumerate(others)}
    return [
        Arm(
            name,
            found[0].title,
            _SHORT.get(name, name if len(name) < 16 else f"{name[:14]}…"),
            known.index(name) if name in ARMS else colours[name],
            tuple(found),
        )
        for name, found in groups.items()
    ]


@dataclass(frozen=True)
class Point:
    """One arm's score after a step.

    Attributes:
        step: The policy's step.
        mean: Mean over episodes of all seeds.
        low: Lower end of the 95 % interval; NaN without one.
        high: Its upper end.
        runs: Seeds that were evaluated.
        episodes: Episodes behind it; 0 where the run recorded only a mean.
        costs: Mean costs of a run.
    """

    step: int
    mean: float
    low: float
    high: float
    runs: int
    episodes: int
    costs: Mapping[str, float]

    @property
    def text(self) -> str:
        """The mean and its interval."""
        if not math.isfinite(self.low):
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def executions(self) -> float | None:
        """Mean executions of a run."""
        return executions(self.costs)


def splits(runs: Iterable[RunData]) -> list[str]:
    """The splits that were evaluated, held-out ones first."""
    evaluations = [e for run in runs for e in run.evaluations]
    found = {e.split for v in evaluations for e in v.episodes if e.measured is not None}
    if not found:
        found = {key for v in evaluations for key in v.scalars}
    return sorted(found, key=lambda s: (s not in _HELD_OUT, s))


def split_title(split: str) -> str:
    """A split's name in sentences."""
    return SPLITS.get(split, split.replace("_", " ").replace("/", ", "))


def scores(arm: Arm, split: str) -> list[Point]:
    """An arm's measured scores by step.

    The interval resamples (seed, task) clusters; with one seed it says nothing about seeds.
    """
    found = []
    for step in arm.steps:
        values, clusters, costs = [], [], []
        for run, evaluation in arm.evaluations(step):
            kept = _values(evaluation, split)
            values += [value for value, _ in kept]
            clusters += [(str(run.folder), task) for _, task in kept]
            costs += [evaluation.costs] if kept else []
        if values:
            whole = len(set(clusters)) > 1
            low, high = clustered_interval(values, clusters) if whole else (math.nan, math.nan)
            count = len({folder for folder, _ in clusters})
            mean = float(np.mean(values))
            found.append(Point(step, mean, low, high, count, len(values), _mean_costs(costs)))
    return found


def _values(evaluation: Evaluation, split: str) -> list[tuple[float, str]]:
    kept = [e for e in evaluation.episodes if e.split == split and e.measured is not None]
    if kept or evaluation.episodes:
        return [(e.measured, e.task) for e in kept if e.measured is not None]
    return [(evaluation.scalars[split], "")] if split in evaluation.scalars else []


def _mean_costs(costs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    keys = {key: None for record in costs for key in record}
    return {key: float(np.mean([record.get(key, 0.0) for record in costs])) for key in keys}


def series(arm: Arm, *keys: str) -> list[tuple[float, float]]:
    """The mean over seeds, by step, of the first of these keys that the steps hold."""
    values: dict[float, list[float]] = {}
    for run in arm.runs:
        for record in run.steps:
            value = next((v for k in keys if (v := number(record.get(k))) is not None), None)
            if value is not None:
                values.setdefault(float(record["step"]), []).append(value)
    return [(step, float(np.mean(values[step]))) for step in sorted(values)]


@dataclass(frozen=True)
class Fidelity:
    """How near predictions come to measurements.

    Attributes:
        pairs: Episodes with both.
        bias: Mean of prediction − measurement.
        error: Mean absolute error.
        ordered: Share of the pairs of episodes of the same task and evaluation that are in the
            right order, ties of the prediction counting half; chance is 0.5; NaN without a pair.
    """

    pairs: int
    bias: float
    error: float
    ordered: float

    @classmethod
    def of(
        cls, groups: Iterable[Sequence[Episode]], side: Callable[[Episode], float | None]
    ) -> "Fidelity | None":
        """Compares one side of episodes with their measurements; None without a pair.

        Args:
            groups: The episodes of each run's evaluation.
            side: Takes the prediction.
        """
        kept = [
            (e.task, p, e.measured, n)
            for n, episodes in enumerate(groups)
            for e in episodes
            if (p := side(e)) is not None and e.measured is not None
        ]
        if not kept:
            return None
        gaps = np.array([p - m for _, p, m, _ in kept])
        cells: dict[tuple[int, str], list[tuple[float, float]]] = {}
        for task, predicted, measured, group in kept:
            cells.setdefault((group, task), []).append((predicted, measured))
        marks = [m for cell in cells.values() for m in _order(cell)]
        ordered = float(np.mean(marks)) if marks else math.nan
        return cls(len(kept), float(gaps.mean()), float(np.abs(gaps).mean()), ordered)


def _order(cell: Sequence[tuple[float, float]]) -> Iterable[float]:
    for (p, m), (q, n) in combinations(cell, 2):
        if m != n:
            yield 0.5 if p == q else float((p > q) == (m > n))
