"""Overlapping rollouts beside synchronous ones: wall time saved, and what is learned meanwhile."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from wmrl_envs.agents import GRPO, LanguageModelPolicy
from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.throughput.grpo_workload import PromptEnv, Workload
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Samples, interleave

__all__ = ["OverlapPlan", "compare_staleness"]

_SMALL = Workload(groups=4, prompt_tokens=16, completion_tokens=16, vocabulary=64, width=64)


@dataclass(frozen=True)
class OverlapPlan:
    """Runs with equal settings and seeds that differ in ``max_staleness`` alone.

    Args:
        staleness: The bounds to compare; 0 is synchronous.
        steps: Updates of a run.
        seeds: Runs of each.
        execution: Seconds that the environment waits for execution elsewhere, as a multiple of what
            sampling and update take together on this machine.
        workload: Model, prompts and batch.
    """

    staleness: tuple[int, ...] = (0, 1, 2)
    steps: int = 40
    seeds: int = 5
    execution: float = 1.0
    workload: Workload = field(default=_SMALL)


class SlowPromptEnv(PromptEnv):
    """Waits in each step, as for sandboxes that work in other processes."""

    def __init__(self, prompts: Sequence[str], num_envs: int, seconds: float) -> None:
        super().__init__(prompts, num_envs)
        self._seconds = seconds

    def step(self, actions: Sequence[str]) -> tuple[Any, ...]:
        """Ends every episode, later."""
        time.sleep(self._seconds)
        return super().step(actions)


def compare_staleness(plan: OverlapPlan, command: Sequence[str]) -> Comparison:
    """Trains on a reward that is easily learned, with an execution that takes its time.

    Args:
        plan: What to run.
        command: The arguments after ``wmrl``, for the record.
    """
    seconds = plan.execution * _learner_seconds(plan)
    curves: dict[int, list[np.ndarray]] = {k: [] for k in plan.staleness}
    runs = {str(k): _run(plan, k, seconds, curves[k]) for k in plan.staleness}
    samples = interleave(runs, plan.seeds, warmup=0)
    rows = [_row(k, samples, curves) for k in plan.staleness]
    return Comparison(
        title=f"{plan.steps} updates, each with {seconds:.2f} s of execution elsewhere",
        columns=(
            "max_staleness",
            "wall s an update",
            "wall time saved",
            "mean reward",
            "at the end",
        ),
        rows=rows,
        findings=[_finding(row) for row in rows[1:]],
        record={
            **provenance(command),
            "plan": asdict(plan),
            "execution_s": seconds,
            "figures": {name: samples[name].record() for name in samples},
            "rewards": {str(k): [c.tolist() for c in found] for k, found in curves.items()},
        },
    )


def _learner_seconds(plan: OverlapPlan) -> float:
    """Wall seconds of sampling and update in a step without execution, the first one left out."""
    learner = _learner(plan, 0, 0, 0.0).learn(1)
    begun = time.perf_counter()
    learner.learn(6)
    return (time.perf_counter() - begun) / 5


def _run(
    plan: OverlapPlan, staleness: int, seconds: float, curves: list[np.ndarray]
) -> Callable[[], int]:
    def run() -> int:
        learner = _learner(plan, staleness, len(curves), seconds).learn(plan.steps)
        curves.append(np.array([row["rollout/reward_mean"] for row in learner.history]))
        return plan.steps

    return run


def _learner(plan: OverlapPlan, staleness: int, seed: int, seconds: float) -> GRPO:
    work = plan.workload
    policy = LanguageModelPolicy(
        work.model(), work.tokenizer(), max_new_tokens=work.completion_tokens, stop_ids=[1]
    )
    envs = [SlowPromptEnv(work.prompts(), work.episodes, seconds) for _ in range(staleness + 1)]
    return GRPO(
        policy,
        envs,
        group_size=work.group_size,
        learning_rate=2e-3,
        max_staleness=staleness,
        seed=seed,
    )


def _row(
    staleness: int, samples: dict[str, Samples], curves: dict[int, list[np.ndarray]]
) -> tuple[Any, ...]:
    wall, first = (
        samples[name].wall_quantile(0.5) for name in (str(staleness), next(iter(samples)))
    )
    rewards = np.array(curves[staleness])
    return (staleness, wall, 1 - wall / first, float(rewards.mean()), float(rewards[:, -5:].mean()))


def _finding(row: tuple[Any, ...]) -> str:
    return (
        f"max_staleness={row[0]} saves {row[2]:.0%} of the wall time; the reward at the end is "
        f"{row[4]:.3f}."
    )
