"""From run folders to a table and one sentence."""

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
    """A mean with its 95 % interval, from a bootstrap that resamples (seed, task) clusters."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


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
        title: The arm's name in tables.
        seeds: Number of runs.
        costs: Mean costs of a run.
        train: Ladder reward on the training tasks.
        test: Ladder reward on the held-out tasks.
        percentile: Leaderboard position on the held-out tasks, a failure counts 0.
    """

    title: str
    seeds: int
    costs: Costs
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
        return cls(
            ARMS[runs[0].config.arm].title,
            len(runs),
            total.scaled(1 / len(runs)),
            _score(runs, "train", "reward"),
            _score(runs, "test", "reward"),
            _score(runs, "test", "position"),
        )


def _score(runs: Iterable[Run], split: str, field: str) -> Score:
    values, clusters = [], []
    for number, run in enumerate(runs):
        for episode in run.evaluations[-1][split]:
            values.append(episode[field])
            clusters.append((number, episode["task"]))
    return Score(float(np.mean(values)), *clustered_interval(values, clusters))


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


def verdict(results: Sequence[ArmResult], start: float) -> str:
    """One sentence that says what the numbers say.

    Args:
        results: The arms.
        start: Mean reward of the starting policy on the training tasks.
    """
    ranked = sorted(results, key=lambda result: result.train.mean, reverse=True)
    first, others = ranked[0], ranked[1:]
    seeds = f"{first.seeds} seed{'s' if first.seeds > 1 else ''}"
    told = ", ".join(
        f"{o.title} {o.train.mean:.2f} / {o.test.mean:.2f} with {o.costs.executions} executions"
        for o in others
    )
    return (
        f"From {start:.2f}, {first.title} reached the highest training reward, {first.train.mean:.2f} "
        f"(held-out {first.test.mean:.2f}) with {first.costs.executions} executions and "
        f"{first.costs.cpu_seconds:.0f} CPU seconds, over {seeds}; {told}."
    )
