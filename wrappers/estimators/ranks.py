"""Correlations of two sequences, None where one of them is constant."""

import numpy as np

__all__ = ["average_ranks", "kendall", "pearson", "spearman"]


def pearson(x: np.ndarray, y: np.ndarray) -> float | None:
    """The linear correlation of two (n,) arrays.

    Returns:
        A number in [-1, 1], or None for fewer than two values or a constant side.
    """
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    # Scaled first: squares of tiny or huge spreads would leave the range of a float.
    x, y = (x - x.mean()) / np.ptp(x), (y - y.mean()) / np.ptp(y)
    correlation = (x @ y) / np.sqrt((x @ x) * (y @ y))
    return float(np.clip(correlation, -1.0, 1.0))


def spearman(x: np.ndarray, y: np.ndarray) -> float | None:
    """The correlation of ranks, ties averaged, of two (n,) arrays.

    Example:
        >>> spearman(np.array([0.1, 0.2, 0.9]), np.array([1.0, 3.0, 2.0]))
        0.5
    """
    return pearson(average_ranks(x), average_ranks(y))


def kendall(x: np.ndarray, y: np.ndarray) -> float | None:
    """Kendall's tau-b of two (n,) arrays; takes O(n^2).

    Example:
        >>> round(kendall(np.array([0.1, 0.2, 0.9]), np.array([1.0, 3.0, 2.0])), 3)
        0.333
    """
    upper = np.triu_indices(x.size, 1)
    a, b = (np.sign(side[:, None] - side)[upper] for side in (x, y))
    decided = np.abs(a).sum() * np.abs(b).sum()
    return float((a @ b) / np.sqrt(decided)) if decided else None


def average_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks (n,) float64 from 1, ties averaged.

    Example:
        >>> average_ranks(np.array([0.3, 0.1, 0.3]))
        array([2.5, 1. , 2.5])
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
