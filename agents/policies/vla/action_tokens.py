"""Robot actions as tokens: the bins of OpenVLA (arXiv 2406.09246), number for number."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ActionTokenizer"]


class ActionTokenizer:
    """Puts each value of an action into one of 256 bins of [-1, 1], which has a token of its own.

    The bins take the last tokens of a vocabulary, in reverse: bin 1, at -1, is the very last one.
    Of the 256 edges, two neighbours enclose a bin; the last bin holds the value 1.0 alone and is
    read as its neighbour, as OpenVLA does.

    Args:
        vocab_size: The size of the vocabulary that ends with the action tokens.
        bins: The number of bins.

    Raises:
        ValueError: There are fewer than 2 bins, or more than tokens.

    Example:
        >>> tokens = ActionTokenizer(vocab_size=1000)
        >>> tokens.encode([-1.0, 0.0, 1.0])
        array([999, 872, 744])
        >>> tokens.decode([999, 872, 744]).round(4)
        array([-0.9961,  0.    ,  0.9961])
    """

    def __init__(self, vocab_size: int, bins: int = 256) -> None:
        if not 2 <= bins <= vocab_size:
            raise ValueError(f"bins must be from 2 to vocab_size ({vocab_size}), got {bins!r}")
        self.vocab_size = int(vocab_size)
        self.bins = int(bins)
        self._edges = np.linspace(-1.0, 1.0, self.bins)
        self._centers = (self._edges[:-1] + self._edges[1:]) / 2

    def encode(self, values: ArrayLike) -> NDArray[np.int64]:
        """Returns the token of each value.

        Args:
            values: Any shape; values beyond [-1, 1] are clipped.

        Returns:
            The same shape, int64, from ``vocab_size - bins`` to ``vocab_size - 1``.

        Raises:
            ValueError: A value is not finite.
        """
        array = np.asarray(values, dtype=np.float64)
        if not np.isfinite(array).all():
            bad = array[~np.isfinite(array)].flat[0]
            raise ValueError(f"values must be finite to have a token, got {bad}")
        return self.tokens(np.digitize(np.clip(array, -1.0, 1.0), self._edges) - 1)

    def decode(self, tokens: ArrayLike) -> NDArray[np.float64]:
        """Returns the centre of each token's bin; other tokens are read as the nearest bin."""
        columns = np.clip(self.columns(tokens), 0, self.bins - 2)
        return np.asarray(self._centers[columns])

    def tokens(self, columns: Any) -> Any:
        """The tokens of bins, counted from 0 at -1; arrays and tensors of any shape."""
        return self.vocab_size - 1 - _integers(columns)

    def columns(self, tokens: Any) -> Any:
        """The bins of tokens, counted from 0 at -1; arrays and tensors of any shape."""
        return self.vocab_size - 1 - _integers(tokens)


def _integers(values: Any) -> Any:
    """Tensors stay tensors; everything else becomes an array."""
    return values if hasattr(values, "device") else np.asarray(values, dtype=np.int64)
