"""Evaluation: rewards of a policy over episodes, with an interval that respects the tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike, NDArray

from wmrl_envs.agents.policies.base import TokenPolicy
from wmrl_envs.agents.rollout import Rollout, collect

__all__ = ["Evaluation", "clustered_interval", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """Rewards of E episodes.

    Attributes:
        rewards: (E,), float64.
        graded: (E,), bool; ungraded episodes are left out of every mean.
        seeds: (E,), int64, reset seeds.
        tasks: E task texts, "" in environments without text.
        statuses: E grade statuses, "" where the environment reported none.
        actions: E lists with the episode's actions.
        mean: Mean reward of the graded episodes; NaN if there are none.
        low: Lower end of the 95 % bootstrap interval of the mean.
        high: Upper end.
    """

    rewards: NDArray[np.float64]
    graded: NDArray[np.bool_]
    seeds: NDArray[np.int64]
    tasks: list[str]
    statuses: list[str]
    actions: list[list[Any]]
    mean: float
    low: float
    high: float


def evaluate(
    policy: TokenPolicy,
    envs: VectorEnv[Any, Any, Any],
    episodes: int,
    *,
    seeds: Sequence[int] | None = None,
    generator_seed: int = 0,
    deterministic: bool = False,
) -> Evaluation:
    """Plays episodes and averages their rewards.

    The interval resamples tasks (episodes where there are fewer than two task texts), because
    episodes of one task are alike: resampling episodes would make it too narrow.

    Args:
        policy: The policy.
        envs: A vector environment. If its number does not divide ``episodes``, some
            sub-environments play episodes that do not count.
        episodes: The number of episodes, E.
        seeds: E reset seeds; None: 0 to E - 1.
        generator_seed: Seeds the sampling, apart from any training.
        deterministic: Take the likeliest tokens.

    Raises:
        ValueError: ``episodes`` is less than 1, or ``seeds`` has another length.
    """
    if episodes < 1:
        raise ValueError(f"episodes must be >= 1, got {episodes!r}")
    chosen = list(range(episodes)) if seeds is None else [int(seed) for seed in seeds]
    if len(chosen) != episodes:
        raise ValueError(f"seeds must hold one seed an episode ({episodes}), got {len(chosen)}")
    generator = torch.Generator(device=policy.device).manual_seed(generator_seed)
    rollouts = []
    for start in range(0, episodes, envs.num_envs):
        part = chosen[start : start + envs.num_envs]
        fill = [part[-1]] * (envs.num_envs - len(part))
        rollouts.append(
            collect(policy, envs, part + fill, generator=generator, deterministic=deterministic)
        )
    return _summary(rollouts, episodes)


def clustered_interval(
    values: ArrayLike,
    clusters: Sequence[Any],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Bootstraps an interval of the mean by drawing whole clusters with replacement.

    Args:
        values: (N,).
        clusters: N hashable labels.
        level: The interval's coverage.
        resamples: Draws.
        seed: Seeds the draws.

    Returns:
        The percentile interval's ends; NaN if there are no values.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        return float("nan"), float("nan")
    labels = {label: i for i, label in enumerate(dict.fromkeys(clusters))}
    index = np.array([labels[label] for label in clusters])
    sums = np.bincount(index, weights=array)
    counts = np.bincount(index)
    draws = np.random.default_rng(seed).integers(len(labels), size=(resamples, len(labels)))
    means = sums[draws].sum(axis=1) / counts[draws].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _summary(rollouts: Sequence[Rollout], episodes: int) -> Evaluation:
    rewards = np.concatenate([r.rewards for r in rollouts])[:episodes]
    graded = np.concatenate([r.graded for r in rollouts])[:episodes]
    tasks = [task for r in rollouts for task in r.tasks][:episodes]
    kept = rewards[graded]
    labels: list[Any] = [task for task, ok in zip(tasks, graded, strict=True) if ok]
    if len(set(labels)) < 2:
        labels = list(range(len(kept)))
    low, high = clustered_interval(kept, labels)
    return Evaluation(
        rewards=rewards,
        graded=graded,
        seeds=np.concatenate([r.seeds for r in rollouts])[:episodes],
        tasks=tasks,
        statuses=[status for r in rollouts for status in r.statuses][:episodes],
        actions=[r.actions(i) for r in rollouts for i in range(len(r))][:episodes],
        mean=float(kept.mean()) if kept.size else float("nan"),
        low=low,
        high=high,
    )
