"""From run folders to a table and one sentence."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.agents.evaluation import clustered_interval
from wmrl_envs.benchmarks.autoresearch.arms import ARMS
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.records import Costs, read_costs, read_lines


@dataclass(frozen=True)
class Score:
    """A mean with its 95 % interval, from a bootstrap that resamples (seed, task) clusters.

    Without a graded episode all three are NaN.
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "not graded"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def overlaps(self, other: "Score") -> bool:
        """Whether the two intervals have a point in common."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class Run:
    """One finished or unfinished run of one arm.

    Attributes:
        config: Its settings.
        evaluations: What ``evaluations.jsonl`` holds.
        log_costs: What the execution log cost that its world model learned from.
    """

    config: RunConfig
    evaluations: tuple[dict[str, Any], ...]
    log_costs: Costs

    @classmethod
    def read(cls, folder: Path, log_folder: Path | None = None) -> "Run":
        """Reads a run folder.

        Args:
            folder: The run folder.
            log_folder: Where the shared execution log lies; None: in the run folder.

        Raises:
            FileNotFoundError: It is not a run folder, or the log's costs are missing.
        """
        config = RunConfig.read(folder / "config.json")
        costs = Costs()
        if ARMS[config.arm].world_model:
            spent, episodes = read_costs((log_folder or folder) / "log_costs.json")
            costs = spent.scaled(min(1.0, config.log_episodes / episodes))
        return cls(config, tuple(read_lines(folder / "evaluations.jsonl")), costs)

    def costs(self, evaluation: dict[str, Any]) -> Costs:
        """All costs up to an evaluation, the world model's log included."""
        return self.log_costs + Costs(**evaluation["costs"])


@dataclass(frozen=True)
class ArmResult:
    """An arm's last evaluation over its seeds.

    Attributes:
        name: The arm's name on the command line.
        title: The arm's name in tables.
        seeds: Number of runs.
        costs: Mean costs of a run.
        start: Ladder reward on the training tasks before the first step.
        train: Ladder reward on the training tasks.
        test: Ladder reward on the held-out tasks.
        percentile: Leaderboard position on the held-out tasks, a failure counts 0.
    """

    name: str
    title: str
    seeds: int
    costs: Costs
    start: Score
    train: Score
    test: Score
    percentile: Score

    @classmethod
    def of(cls, runs: Sequence[Run]) -> "ArmResult":
        """Summarises the runs of one arm.

        Raises:
            ValueError: There is no run, or one has not been evaluated.
        """
        if not runs or not all(run.evaluations for run in runs):
            raise ValueError(f"runs must be evaluated runs, got {len(runs)} of which some are not")
        total = reduce(add, (run.costs(run.evaluations[-1]) for run in runs))
        arm = ARMS[runs[0].config.arm]
        return cls(
            arm.name,
            arm.title,
            len(runs),
            total.scaled(1 / len(runs)),
            _score(runs, 0, "train", "reward"),
            _score(runs, -1, "train", "reward"),
            _score(runs, -1, "test", "reward"),
            _score(runs, -1, "test", "position"),
        )


def _score(runs: Iterable[Run], evaluation: int, split: str, field: str) -> Score:
    values, clusters = [], []
    for run in runs:
        for episode in run.evaluations[evaluation][split]:
            values.append(episode[field])
            clusters.append((run.config.seed, episode["task"]))
    mean = float(np.mean(values)) if values else math.nan
    return Score(mean, *clustered_interval(values, clusters))


HEADINGS = (
    "arm",
    "executions",
    "execution s",
    "world model s",
    "generation s",
    "update s",
    "CPU s",
    "train reward",
    "held-out reward",
    "held-out percentile",
)
"""The table's columns; seconds are CPU seconds."""


def rows(results: Iterable[ArmResult]) -> list[tuple[str, ...]]:
    """The table's rows, as text."""
    return [
        (
            result.title,
            f"{result.costs.executions}",
            *(
                f"{seconds:.0f}"
                for seconds in (
                    result.costs.execution,
                    result.costs.world_model,
                    result.costs.generation,
                    result.costs.update,
                    result.costs.cpu_seconds,
                )
            ),
            str(result.train),
            str(result.test),
            str(result.percentile),
        )
        for result in results
    ]


def markdown(results: Sequence[ArmResult]) -> str:
    """The table in Markdown."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(row) + " |" for row in rows(results)]
    return "\n".join(lines) + "\n"


def verdict(results: Sequence[ArmResult]) -> str:
    """One sentence that says what the numbers say: who came first, by how much, who did not.

    Args:
        results: The arms; which of them is first is read off their training rewards.

    Raises:
        ValueError: There are no arms.
    """
    ranked = sorted((r for r in results if not math.isnan(r.train.mean)), key=_rank)
    if not results:
        raise ValueError("results must hold an arm, got none")
    if not ranked:
        return "No episode was graded, so there is nothing to compare."
    first, others = ranked[0], ranked[1:]
    return (
        f"From a training reward of {first.start.mean:.2f}, {first.title} came to the highest, "
        f"{_outcome(first)} and {first.costs.cpu_seconds:.0f} CPU seconds, over {_seeds(first)}"
        + "".join(f"; {other.title} to {_outcome(other)}" for other in others)
        + _doubt(first, others)
        + "."
    )


def _rank(result: ArmResult) -> float:
    return -result.train.mean


def _outcome(result: ArmResult) -> str:
    held_out = "not graded" if math.isnan(result.test.mean) else f"{result.test.mean:.2f}"
    return (
        f"{result.train.mean:.2f} (held-out {held_out}) with {result.costs.executions} executions"
    )


def _seeds(result: ArmResult) -> str:
    return f"{result.seeds} seed{'s' if result.seeds > 1 else ''}"


def _doubt(first: ArmResult, others: Sequence[ArmResult]) -> str:
    """Which others the first may only seem to beat."""
    close = [other.title for other in others if first.train.overlaps(other.train)]
    if not close:
        return ""
    return f"; the first one's 95 % interval overlaps that of {', '.join(close)}"
