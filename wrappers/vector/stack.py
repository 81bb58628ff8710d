"""Looking for anchor sampling beneath a vector environment."""

from typing import Any

from gymnasium.vector import SyncVectorEnv

from wmrl_envs.wrappers import anchor_sampling
from wmrl_envs.wrappers.stack import find_wrapper, layers
from wmrl_envs.wrappers.vector.anchor_sampling import AnchorSamplingWrapper

__all__ = ["find_sampler", "samples_anchors"]


def find_sampler(env: Any) -> Any:
    """The anchor sampling beneath: the vector wrapper, or the first sub-environment's own.

    Sub-environments in other processes (``AsyncVectorEnv``) cannot be looked into.
    """
    vector = find_wrapper(env, AnchorSamplingWrapper)
    base = list(layers(env))[-1]
    if vector is None and isinstance(base, SyncVectorEnv):
        return find_wrapper(base.envs[0], anchor_sampling.AnchorSamplingWrapper)
    return vector


def samples_anchors(env: Any) -> bool:
    """Whether there is anchor sampling beneath."""
    return find_sampler(env) is not None
