"""Evaluation as in the paper: several rollouts from each initial state, seen and held out."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import torch

from wmrl_envs.agents.policies.base import TokenPolicy
from wmrl_envs.agents.rollout import Rollout, collect
from wmrl_envs.benchmarks.libero_long.films import keep_films
from wmrl_envs.benchmarks.libero_long.success import StateRollouts, SuccessTable
from wmrl_envs.libero.vector_env import LiberoVectorEnv

__all__ = ["measure_success", "rollouts_of_split"]

_GENERATOR_SEED = 900_000_000
"""Seeds the evaluation's sampling, apart from any training's; the same for all arms."""

MakeEnvs = Callable[[tuple[int, ...]], LiberoVectorEnv]


def measure_success(
    policy: TokenPolicy,
    make_envs: MakeEnvs,
    splits: dict[str, tuple[int, ...]],
    rollouts: int,
    films: Path | None = None,
) -> SuccessTable:
    """Plays ``rollouts`` episodes from every initial state of the splits.

    Args:
        policy: The policy; it samples.
        make_envs: Makes environments for some initial states.
        splits: Initial states by split.
        rollouts: Episodes of a state.
        films: Where films of a success and a failure of each task go; None: none are made.
    """
    states: list[StateRollouts] = []
    for split, numbers in splits.items():
        with closing(make_envs(numbers)) as envs:
            states += rollouts_of_split(policy, envs, split, rollouts, films)
    return SuccessTable(states)


def rollouts_of_split(
    policy: TokenPolicy,
    envs: LiberoVectorEnv,
    split: str,
    rollouts: int,
    films: Path | None = None,
) -> list[StateRollouts]:
    """Plays ``rollouts`` episodes from every start of some environments.

    Args:
        policy: The policy; it samples.
        envs: Environments whose starts are those of the split.
        split: The split's name.
        rollouts: Episodes of a start.
        films: See :func:`measure_success`.
    """
    starts = envs.starts
    seeds = [seed for seed in range(len(starts)) for _ in range(rollouts)]
    generator = torch.Generator(policy.device).manual_seed(_GENERATOR_SEED)
    hits: list[float] = []
    for wave in _waves(seeds, envs.num_envs):
        played = collect(policy, envs, wave, generator=generator)
        hits += played.rewards.tolist()
        if films is not None:
            _film(envs, played, split, films)
    found = np.array(hits[: len(seeds)]).reshape(len(starts), rollouts) > 0
    return [
        StateRollouts(*envs.start_of(seed), split, tuple(map(bool, row)))
        for seed, row in enumerate(found)
    ]


def _waves(seeds: list[int], size: int) -> Iterator[list[int]]:
    """Batches of ``size``; what fills up the last one does not count."""
    for first in range(0, len(seeds), size):
        wave = seeds[first : first + size]
        yield wave + [wave[-1]] * (size - len(wave))


def _film(envs: LiberoVectorEnv, played: Rollout, split: str, folder: Path) -> None:
    starts = [envs.start_of(int(seed)) for seed in played.seeds]
    keep_films(envs, starts, (played.rewards > 0).tolist(), split, folder)
