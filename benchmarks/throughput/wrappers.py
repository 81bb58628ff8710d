"""A vector step through the three wrappers beside Gymnasium's own ``TransformReward``."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import TransformReward

from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Samples, interleave
from wmrl_envs.wrappers.vector import (
    AnchorSamplingWrapper,
    CorrectionWrapper,
    WorldModelRewardWrapper,
)

__all__ = ["compare_wrappers"]

_BARE, _TRANSFORM, _STACK = "no wrapper", "TransformReward", "the three wrappers"
_OF_TRANSFORMS = "of TransformReward's"
_FALL, _GO_ON = "fall after some 20 steps", "go on"
_ENDINGS = (_FALL, _GO_ON)


def compare_wrappers(
    sizes: Sequence[int], rounds: int, steps: int, command: Sequence[str]
) -> Comparison:
    """Measures vector steps of CartPole, whose own step is numpy and cheap.

    Args:
        sizes: Numbers of sub-environments.
        rounds: Interleaved rounds.
        steps: Vector steps a round.
        command: The arguments after ``wmrl``, for the record.
    """
    found = {
        (size, ending): _measure(size, ending, rounds, steps)
        for size in sizes
        for ending in _ENDINGS
    }
    rows = [
        (size, ending, name, 1e6 * samples.cpu_per_unit, _ratio(by_name, name, _TRANSFORM))
        for (size, ending), by_name in found.items()
        for name, samples in by_name.items()
    ]
    figures = {
        f"{size}, {ending}": {name: samples.record() for name, samples in by_name.items()}
        for (size, ending), by_name in found.items()
    }
    columns = ("sub-environments", "episodes", "wrapped by", "CPU µs a step", _OF_TRANSFORMS)
    return Comparison(
        title="A vector step of CartPole",
        columns=columns,
        rows=rows,
        findings=[_finding(*condition, by_name) for condition, by_name in found.items()],
        record={**provenance(command), "rounds": rounds, "steps": steps, "figures": figures},
    )


def _measure(size: int, ending: str, rounds: int, steps: int) -> dict[str, Samples]:
    wrapped: dict[str, Callable[[VectorEnv], VectorEnv]] = {
        _BARE: lambda envs: envs,
        _TRANSFORM: lambda envs: TransformReward(envs, _halved),
        _STACK: _stack,
    }
    envs = {name: wrap(_cart_poles(size, ending)) for name, wrap in wrapped.items()}
    calls = {name: _stepping(vector_env, steps) for name, vector_env in envs.items()}
    try:
        return interleave(calls, rounds)
    finally:
        for vector_env in envs.values():
            vector_env.close()


def _cart_poles(size: int, ending: str) -> VectorEnv:
    if ending == _FALL:
        return gym.make_vec("CartPole-v1", size, "vector_entry_point")
    envs: Any = gym.make_vec(
        "CartPole-v1", size, "vector_entry_point", max_episode_steps=1_000_000_000
    )
    envs.unwrapped.theta_threshold_radians = envs.unwrapped.x_threshold = np.inf
    return envs


def _halved(rewards: np.ndarray) -> np.ndarray:
    return 0.5 * rewards


def _stack(envs: VectorEnv) -> VectorEnv:
    sampled = AnchorSamplingWrapper(envs, fraction=0.1, seed=0)
    return CorrectionWrapper(WorldModelRewardWrapper(sampled, world_model=_constant))


def _constant(episodes: Sequence[Any]) -> list[float]:
    return [1.0] * len(episodes)


def _stepping(envs: VectorEnv, steps: int) -> Callable[[], int]:
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, (steps, envs.num_envs))
    envs.reset(seed=0)

    def many() -> int:
        for action in actions:
            envs.step(action)
        return steps

    return many


def _ratio(samples: dict[str, Samples], name: str, other: str) -> float:
    return samples[name].cpu_per_unit / samples[other].cpu_per_unit


def _finding(size: int, ending: str, samples: dict[str, Samples]) -> str:
    return (
        f"With {size} sub-environments whose episodes {ending} a step through the three wrappers "
        f"takes {_ratio(samples, _STACK, _TRANSFORM):.2f} of a step through TransformReward and "
        f"{_ratio(samples, _STACK, _BARE):.2f} of a bare one."
    )
