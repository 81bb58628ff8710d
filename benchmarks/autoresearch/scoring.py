"""Plays a policy on tasks and grades what it does, sample by sample."""

import math
from collections.abc import Sequence

import gymnasium as gym

from wmrl_envs.agents.evaluation import Evaluation, evaluate
from wmrl_envs.agents.history import HistoryObservation
from wmrl_envs.agents.policies.base import TokenPolicy
from wmrl_envs.autoresearch.grading import Grade, GradeStatus, ladder_reward
from wmrl_envs.autoresearch.leaderboard import mean_position
from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.autoresearch.standing import medal_of
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.benchmarks.autoresearch.scores import Sample

__all__ = ["make_sample", "play"]

_SEEDS = 900_000_000
"""Reset seeds of evaluations: apart from those of training and of logs."""
_LARGEST_BATCH = 64


def play(
    policy: TokenPolicy,
    tasks: Sequence[Task],
    sandbox: Sandbox,
    *,
    samples: int = 8,
    turns: int = 1,
    cards: bool = False,
    seed: int = 0,
) -> tuple[list[Sample], int]:
    """Executes solutions of every task.

    Args:
        policy: The policy.
        tasks: The tasks.
        sandbox: Where programs run.
        samples: Episodes a task.
        turns: Turns an episode; the best one counts.
        cards: Show the three-line cards in place of the overviews.
        seed: Seeds the policy's sampling.

    Returns:
        The graded samples, and the number of episodes that were not graded.

    Raises:
        ValueError: ``samples`` is less than 1.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    envs = gym.make_vec(
        "wmrl_envs:WMRL/AutoResearch-v0",
        num_envs=min(len(tasks), _LARGEST_BATCH),
        tasks=list(tasks),
        max_turns=turns,
        reward="score",
        observation="card" if cards else "overview",
        feedback="full" if turns > 1 else "none",
        sandbox=sandbox,
    )
    if turns > 1:
        envs = HistoryObservation(envs)
    # Blocks of as many seeds as there are tasks visit every task once.
    first = -(-_SEEDS // len(tasks)) * len(tasks)
    seeds = range(first, first + samples * len(tasks))
    try:
        played = evaluate(policy, envs, len(seeds), seeds=seeds, generator_seed=_SEEDS + seed)
    finally:
        envs.close()
    found = [_sample(tasks, played, index, cards) for index in range(len(seeds))]
    graded = [sample for sample in found if sample is not None]
    return graded, len(found) - len(graded)


def _sample(tasks: Sequence[Task], played: Evaluation, index: int, cards: bool) -> Sample | None:
    """None where the infrastructure failed: then there is no status."""
    status = str(played.statuses[index])
    if not status:
        return None
    texts = {task.card() if cards else task.overview(): task for task in tasks}
    score = float(played.rewards[index]) if status == GradeStatus.VALID.value else None
    return make_sample(texts[played.tasks[index]], GradeStatus(status), score)


def make_sample(task: Task, status: GradeStatus, score: float | None) -> Sample:
    """What a status and a raw score amount to on a task.

    Args:
        task: The task.
        status: The grade's status.
        score: The metric's value; None unless the status is valid.
    """
    valid = score is not None and math.isfinite(score)
    position = mean_position(score, task.boards) if score is not None and valid else 0.0
    grade = Grade(status, score=score, position=position if valid else None)
    return Sample(
        task=task.name,
        modality=task.modality,
        category=task.category,
        status=status.value,
        reward=ladder_reward(grade),
        position=position,
        score=score,
        medal=(medal_of(task, score) or "") if score is not None else "",
        gap=_gap(task, score),
    )


def _gap(task: Task, score: float | None) -> float | None:
    """DSBench's gap; None where a task has no reference scores."""
    from wmrl_envs.autoresearch.formats.prepared import PreparedTask

    if not isinstance(task, PreparedTask):
        return None
    try:
        return task.gap(0.0 if score is None else score) * (score is not None)
    except ValueError:
        return None
