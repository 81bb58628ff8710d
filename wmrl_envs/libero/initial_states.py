"""Which initial states an environment starts from, and which one a seed starts.

A LIBERO task has 50 recorded initial states. WMRL (arXiv 2608.12564) trains on some and reports
others as unseen; 16 and 34 are the only counts that are consistent with its table. Seen and unseen
states are draws from one distribution: a held-out state is a new start, not a new world. The suites
``libero_10_swap``, ``_object``, ``_task`` and ``_lan`` are shifted.
"""

import hashlib
from collections.abc import Iterable, Sequence

__all__ = ["choose_start", "resolve_split"]

_TRAINING_STATES = 16


def resolve_split(split: str | Iterable[int], count: int) -> tuple[int, ...]:
    """The numbers of a split's initial states.

    Args:
        split: ``"train"`` (0 to 15), ``"heldout"`` (from 16), ``"all"``, or numbers.
        count: How many initial states the task has.

    Raises:
        TypeError: ``split`` is neither a name nor integers.
        ValueError: The split is unknown, empty, repeats a number, or exceeds ``count``.

    Example:
        >>> resolve_split("train", 50)[-1], resolve_split("heldout", 50)[0]
        (15, 16)
    """
    if isinstance(split, str):
        return _named(split, count)
    numbers = tuple(split)
    if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
        raise TypeError(f"split must be a name or a sequence of ints, got {split!r}")
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"split must name at least one state and none twice, got {split!r}")
    if not all(0 <= number < count for number in numbers):
        raise ValueError(f"split must lie within 0 to {count - 1}, got {split!r}")
    return numbers


def choose_start(seed: int, starts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The (task, initial state) of an episode: a pure function of its seed.

    Consecutive seeds visit every start once, in a shuffled order, before any of them repeats.

    Args:
        seed: The episode's seed, at least 0.
        starts: At least one pair of a task and an initial state, all different.

    Example:
        >>> starts = [(0, 0), (0, 1), (0, 2)]
        >>> sorted(choose_start(seed, starts) for seed in range(3)) == starts
        True
    """
    block, position = divmod(seed, len(starts))
    return sorted(starts, key=lambda start: _shuffle_key(block, start))[position]


def _named(split: str, count: int) -> tuple[int, ...]:
    ranges = {
        "train": range(min(_TRAINING_STATES, count)),
        "heldout": range(_TRAINING_STATES, count),
        "all": range(count),
    }
    if split not in ranges:
        raise ValueError(f"split must be 'train', 'heldout', 'all' or numbers, got {split!r}")
    if not ranges[split]:
        raise ValueError(f"split {split!r} is empty: the task has {count} initial states")
    return tuple(ranges[split])


def _shuffle_key(block: int, start: tuple[int, int]) -> bytes:
    return hashlib.sha256(f"{block} {start}".encode()).digest()
