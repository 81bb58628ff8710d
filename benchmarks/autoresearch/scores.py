"""From graded samples to scores: avg@k, best@k, valid rate, medals, gap; per task and averaged.

A failure counts 0 everywhere. Categories are averaged as WMRL does it (arXiv 2608.12564): first
over the tasks of a category, then over the categories. Intervals resample whole tasks, because the
samples of one task are alike.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from wmrl_envs.agents.evaluation import clustered_interval

__all__ = ["MEASURES", "Estimate", "Measure", "Sample", "TaskScores", "estimate", "macro_estimate"]


@dataclass(frozen=True)
class Sample:
    """One graded episode.

    Attributes:
        task: The task's name.
        modality: ``tabular``, ``text`` or ``image``.
        category: ``binary``, ``multiclass``, ``regression`` or ``other``.
        status: The grade's status.
        reward: The ladder's reward.
        position: The leaderboard position in [0, 1]; 0.0 unless valid.
        score: The metric's value; None unless valid.
        medal: ``gold``, ``silver``, ``bronze`` or "".
        gap: DSBench's relative performance gap, 0.0 unless valid; None where the task has no
            reference scores.
    """

    task: str
    modality: str
    category: str
    status: str
    reward: float
    position: float
    score: float | None = None
    medal: str = ""
    gap: float | None = None


@dataclass(frozen=True)
class Estimate:
    """A mean with the ends of its 95 % interval; NaN ends where there are no two tasks."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class TaskScores:
    """The k samples of one task.

    Attributes:
        samples: At least one.
    """

    samples: tuple[Sample, ...]

    @property
    def task(self) -> str:
        """The task's name."""
        return self.samples[0].task

    @property
    def average(self) -> float:
        """avg@k: the mean position, failures as 0."""
        return _mean([sample.position for sample in self.samples])

    @property
    def best(self) -> float:
        """best@k: the highest position."""
        return max(sample.position for sample in self.samples)

    @property
    def valid_rate(self) -> float:
        """The share of samples with a valid submission."""
        return _mean([float(sample.status == "valid") for sample in self.samples])

    @property
    def gap(self) -> float | None:
        """The mean gap; None where the task has no reference scores."""
        gaps = [sample.gap for sample in self.samples if sample.gap is not None]
        return _mean(gaps) if gaps else None

    def medal_rate(self, *medals: str) -> float:
        """The share of samples with one of these medals."""
        return _mean([float(sample.medal in medals) for sample in self.samples])

    @classmethod
    def by_task(cls, samples: Iterable[Sample]) -> "tuple[TaskScores, ...]":
        """Samples grouped by their task, by name."""
        groups: dict[str, list[Sample]] = {}
        for sample in samples:
            groups.setdefault(sample.task, []).append(sample)
        return tuple(cls(tuple(groups[name])) for name in sorted(groups))


@dataclass(frozen=True)
class Measure:
    """Something that each task has a value of.

    Attributes:
        key: Its name in JSON.
        title: Its name in tables; ``{k}`` stands for the number of samples.
        value: Of a task; None where the task has none.
    """

    key: str
    title: str
    value: Callable[[TaskScores], float | None]


MEASURES: Final = (
    Measure("percentile", "percentile avg@{k}", lambda task: task.average),
    Measure("best", "percentile best@{k}", lambda task: task.best),
    Measure("valid", "valid rate", lambda task: task.valid_rate),
    Measure("medal", "any medal", lambda task: task.medal_rate("gold", "silver", "bronze")),
    Measure("gold", "gold", lambda task: task.medal_rate("gold")),
    Measure("silver", "silver", lambda task: task.medal_rate("silver")),
    Measure("bronze", "bronze", lambda task: task.medal_rate("bronze")),
    Measure("gap", "DSBench gap", lambda task: task.gap),
)


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of the tasks' values, with an interval that resamples tasks."""
    if len(values) < 2:
        return Estimate(_mean(values), float("nan"), float("nan"))
    low, high = clustered_interval(values, range(len(values)))
    return Estimate(_mean(values), low, high)


def macro_estimate(
    groups: Sequence[Sequence[float]], *, resamples: int = 2000, seed: int = 0
) -> Estimate:
    """The mean over categories of the mean over their tasks.

    The interval resamples the tasks within each category; a category of one task adds nothing to
    it.

    Args:
        groups: The tasks' values of each category; empty ones are left out.
        resamples: Draws.
        seed: Seeds the draws.
    """
    arrays = [np.asarray(group, dtype=float) for group in groups if len(group)]
    value = _mean([float(array.mean()) for array in arrays])
    if all(len(array) < 2 for array in arrays):
        return Estimate(value, float("nan"), float("nan"))
    generator = np.random.default_rng(seed)
    draws = [a[generator.integers(len(a), size=(resamples, len(a)))].mean(axis=1) for a in arrays]
    low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975])
    return Estimate(value, float(low), float(high))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
