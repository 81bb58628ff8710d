"""Which groups are anchors: a pure function of a seed and the group's id.

No state and no communication: G sub-environments, processes or machines agree, and a resumed run
draws the same anchors. The budget is exact for consecutive group ids.
"""

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["REPEAT_STRIDE", "AnchorDraw", "exact_block", "group_id", "splitmix64"]

REPEAT_STRIDE = 2**32
"""Distance between the group ids of one seed's successive unseeded episodes."""

_LONGEST_EXACT_BLOCK = 100
_LONGEST_BLOCK = 10_000
_ID_MASK = 2**63 - 1


def group_id(base: int, repeat: int = 0) -> int:
    """The id of the group that a seed's ``repeat``-th unseeded episode belongs to.

    Args:
        base: The last explicit group, usually a reset seed below 2**32.
        repeat: How many episodes were started without a seed since then.

    Returns:
        A non-negative integer that fits int64, equal to ``base`` for ``repeat=0``.

    Example:
        >>> group_id(7), group_id(7, 1) == 7 + 2**32
        (7, True)
    """
    return (base + repeat * REPEAT_STRIDE) & _ID_MASK


def exact_block(fraction: float) -> int:
    """The shortest block of ids that holds a whole number of anchors.

    Where that is over 100, ceil(1/fraction) up to 10,000: the budget is exact over the blocks then.

    Example:
        >>> exact_block(0.1), exact_block(0.15), exact_block(1.0)
        (10, 20, 1)
    """
    for length in range(1, _LONGEST_EXACT_BLOCK + 1):
        if math.isclose(fraction * length, round(fraction * length), abs_tol=1e-9):
            return length
    return math.ceil(min(1 / fraction, _LONGEST_BLOCK))


def splitmix64(values: np.ndarray) -> np.ndarray:
    """Mixes the bits of (...,) uint64 values (Steele, Lea and Flood 2014), wrapping around."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True)
class AnchorDraw:
    """Draws a fixed share of groups, exactly, from each block of consecutive ids.

    Block b of n ids holds floor(p n (b+1)) - floor(p n b) anchors: the ids with the lowest seeded
    hash. Ids that differ by :data:`REPEAT_STRIDE` are one seed's successive episodes; the order of
    their block is rotated by one at each, so that the budget is exact along the episodes of one
    seed as well as across seeds.

    Args:
        fraction: The share p of groups, in [0, 1].
        seed: Chooses among the draws with this budget.
        block: Ids a block, n; by default the shortest block with a whole number of anchors.

    Raises:
        TypeError: ``fraction`` is no number, or ``seed`` or ``block`` no integer.
        ValueError: ``fraction`` lies outside [0, 1], or ``block`` is below 1.

    Example:
        >>> draw = AnchorDraw(fraction=0.1, seed=0)
        >>> int(draw(np.arange(50)).sum())
        5
    """

    fraction: float
    seed: int = 0
    block: int | None = None

    def __post_init__(self) -> None:
        """Checks the arguments, makes them Python numbers and settles the block."""
        numbers = (int, float, np.integer, np.floating)
        if isinstance(self.fraction, bool) or not isinstance(self.fraction, numbers):
            raise TypeError(f"fraction must be a number in [0, 1], got {self.fraction!r}")
        if not 0 <= self.fraction <= 1:
            raise ValueError(f"fraction must lie in [0, 1], got {self.fraction!r}")
        if not isinstance(self.seed, (int, np.integer)):
            raise TypeError(f"seed must be an integer, got {self.seed!r}")
        if not isinstance(self.block, (int, np.integer)) and self.block is not None:
            raise TypeError(f"block must be an integer of at least 1, got {self.block!r}")
        if self.block is not None and self.block < 1:
            raise ValueError(f"block must be at least 1, got {self.block!r}")
        object.__setattr__(self, "fraction", float(self.fraction))
        object.__setattr__(self, "seed", int(self.seed))
        block = exact_block(self.fraction) if self.block is None else int(self.block)
        object.__setattr__(self, "block", block)

    def __call__(self, groups: np.ndarray) -> np.ndarray:
        """Tells which groups are anchors.

        Args:
            groups: (N,) int64 group ids, in any order, repeats allowed.

        Returns:
            (N,) bool.
        """
        assert self.block is not None
        ids = np.asarray(groups, dtype=np.int64)
        repeat, place = ids // REPEAT_STRIDE, ids % REPEAT_STRIDE
        block, position = place // self.block, place % self.block
        members = block[:, None] * self.block + np.arange(self.block)
        salt = splitmix64(np.array([self.seed & (2**64 - 1)], dtype=np.uint64))
        hashes = splitmix64(splitmix64(members.astype(np.uint64)) ^ salt)
        own = np.take_along_axis(hashes, position[:, None], axis=1)
        rank = (hashes < own).sum(axis=1)
        return (rank + repeat) % self.block < self._anchors_in(block)

    def one(self, group: int) -> bool:
        """Tells whether a single group is an anchor."""
        return bool(self(np.array([group]))[0])

    def _anchors_in(self, block: np.ndarray) -> np.ndarray:
        assert self.block is not None
        rate = self.fraction * self.block
        if math.isclose(rate, round(rate), abs_tol=1e-9):
            rate = round(rate)
        return np.floor(rate * (block + 1)) - np.floor(rate * block)
