"""Where one arm stood when it had cost as much as another in the end."""

from collections.abc import Callable, Sequence

import numpy as np

from wmrl_envs.benchmarks.autoresearch.records import Costs
from wmrl_envs.benchmarks.autoresearch.summary import ArmResult, Run

COSTS: dict[str, Callable[[Costs], float]] = {
    "executions": lambda costs: costs.executions,
    "CPU seconds": lambda costs: costs.cpu_seconds,
}
"""What two arms can be compared at."""


def reward_at(
    runs: Sequence[Run], split: str, cost: Callable[[Costs], float], amount: float
) -> float:
    """Mean reward at a cost, interpolated between the evaluations of each run.

    Args:
        runs: The runs of one arm, each evaluated at least once.
        split: ``train`` or ``test``.
        cost: Which cost.
        amount: How much of it; outside a run's evaluations its nearest one counts.

    Returns:
        The mean over the runs; NaN where a run was never graded.
    """
    found = []
    for run in runs:
        graded = [evaluation for evaluation in run.evaluations if evaluation[split]]
        spent = [cost(run.costs(evaluation)) for evaluation in graded]
        rewards = [np.mean([e["reward"] for e in evaluation[split]]) for evaluation in graded]
        found.append(np.interp(amount, spent, rewards) if graded else np.nan)
    return float(np.mean(found))


def at_equal_cost(real: Sequence[Run], other: ArmResult) -> list[str]:
    """Sentences that compare an arm with real execution at the same cost.

    Args:
        real: The runs of the arm that executes everything.
        other: The arm to compare.
    """
    sentences = []
    for name, cost in COSTS.items():
        amount = cost(other.costs)
        train, test = (reward_at(real, split, cost, amount) for split in ("train", "test"))
        sentences.append(
            f"At {amount:.0f} {name}, where {other.title} ends with {other.train.mean:.3f} "
            f"(held-out {other.test.mean:.3f}), real execution stands at {train:.3f} ({test:.3f})."
        )
    return sentences
