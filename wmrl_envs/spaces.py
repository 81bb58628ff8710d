"""A text space that fits source code."""

import string
from typing import Any

import gymnasium as gym
import numpy as np

__all__ = ["UnicodeText"]

_SAMPLE_CHARACTERS = list(string.ascii_letters + string.digits + " \n()=.,_\"'#é…")
_LONGEST_SAMPLE = 64


class UnicodeText(gym.Space[str]):
    r"""Any Python string of ``min_length`` to ``max_length`` characters.

    ``gymnasium.spaces.Text`` does not fit code: its default character set has no space and no
    newline, and ``AsyncVectorEnv``'s shared memory silently corrupts it. This space tests
    membership in O(1), prints short, and fails loudly under shared memory (pass
    ``shared_memory=False``).

    Args:
        max_length: The longest string, in characters.
        min_length: The shortest string, in characters.
        seed: Seed or generator for :meth:`sample`.

    Raises:
        TypeError: A length is no int.
        ValueError: The lengths are negative or in the wrong order.

    Example:
        >>> space = UnicodeText(100)
        >>> space.contains("print('é')\n")
        True
        >>> space
        UnicodeText(0, 100)
    """

    def __init__(
        self, max_length: int, *, min_length: int = 0, seed: int | np.random.Generator | None = None
    ) -> None:
        for name, length in (("min_length", min_length), ("max_length", max_length)):
            if isinstance(length, bool) or not isinstance(length, int):
                raise TypeError(f"{name} must be an int, got {length!r}")
        if not 0 <= min_length <= max_length:
            raise ValueError(
                f"min_length and max_length must satisfy 0 <= min_length <= max_length, "
                f"got min_length={min_length!r}, max_length={max_length!r}"
            )
        self.min_length = min_length
        self.max_length = max_length
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no fixed-size array form."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Draws a short string (at most 64 characters over ``min_length``)."""
        if mask is not None or probability is not None:
            raise ValueError(
                "UnicodeText.sample takes neither mask nor probability, "
                f"got mask={mask!r}, probability={probability!r}"
            )
        longest = min(self.max_length, self.min_length + _LONGEST_SAMPLE)
        length = int(self.np_random.integers(self.min_length, longest + 1))
        return "".join(self.np_random.choice(_SAMPLE_CHARACTERS, size=length))

    def contains(self, x: Any) -> bool:
        """True for a ``str`` whose length is within the bounds."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.min_length}, {self.max_length})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UnicodeText)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
        )

    def __hash__(self) -> int:
        return hash((UnicodeText, self.min_length, self.max_length))
