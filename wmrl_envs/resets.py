"""What environments, wrappers and agents read alike from a reset: seeds, options, the task."""

from collections.abc import Collection, Iterable, Mapping
from operator import index
from typing import Any

import numpy as np

__all__ = ["may_execute", "seed_list", "task_text"]


def may_execute(options: Mapping[str, Any] | None, seed: int | None) -> bool:
    """Whether the reset option ``execute`` lets an episode be measured.

    Args:
        options: The reset options; a missing ``execute`` stands for True.
        seed: The seed that the episode is reset with, or None.

    Returns:
        The option itself where it is a bool, else whether the seed is among its members.

    Raises:
        TypeError: The option is neither a bool nor a collection of reset seeds.

    Example:
        >>> may_execute(None, seed=3), may_execute({"execute": {4, 5}}, seed=3)
        (True, False)
    """
    execute = (options or {}).get("execute", True)
    if isinstance(execute, bool | np.bool_):
        return bool(execute)
    if isinstance(execute, str | bytes) or not isinstance(execute, Collection):
        raise TypeError(
            f"options['execute'] must be a bool or a collection of reset seeds, got {execute!r}"
        )
    return seed is not None and seed in execute


def seed_list(seed: Any, num_envs: int) -> list[int | None]:
    """One reset seed for each sub-environment, as Gymnasium spreads them.

    Args:
        seed: None, an integer that counts up from the first sub-environment, or N integers or None.
        num_envs: The number of sub-environments, N.

    Raises:
        TypeError: It is, or holds, something else.
        ValueError: It holds another number of seeds than N.

    Example:
        >>> seed_list(7, 3), seed_list([1, None], 2)
        ([7, 8, 9], [1, None])
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer):
        return [int(seed) + i for i in range(num_envs)]
    if isinstance(seed, str) or not isinstance(seed, Iterable):
        raise TypeError(f"seed must be an int, {num_envs} ints or None, got {seed!r}")
    try:
        seeds = [None if one is None else index(one) for one in seed]
    except TypeError:
        raise TypeError(f"seed must hold ints or None, got {seed!r}") from None
    if len(seeds) != num_envs:
        raise ValueError(f"seed must hold {num_envs} seeds, got {len(seeds)}: {seed!r}")
    return seeds


def task_text(observation: Any) -> str:
    """The task in an observation: its ``task`` entry, the string itself, or "" without text."""
    if isinstance(observation, Mapping):
        observation = observation.get("task", "")
    return observation if isinstance(observation, str) else ""
