"""Monotone maps, and the weighted isotonic regression that they come from."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["MonotoneMap", "average_ties", "isotonic_knots"]


def _empty() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True)
class MonotoneMap:
    """A piecewise linear map, flat outside its knots, mixed with a line.

    f(x) = (1 - line_share) * interpolate(x) + line_share * (intercept + slope * x). The default is
    the identity.

    Attributes:
        knots_x: (K,) float64, increasing predictions.
        knots_y: (K,) float64, non-decreasing measurements.
        intercept: The line's value at 0.
        slope: The line's slope, not negative.
        line_share: The line's share of the mixture, in [0, 1].

    Example:
        >>> MonotoneMap()(np.array([0.2, 0.9]))
        array([0.2, 0.9])
    """

    knots_x: np.ndarray = field(default_factory=_empty)
    knots_y: np.ndarray = field(default_factory=_empty)
    intercept: float = 0.0
    slope: float = 1.0
    line_share: float = 1.0

    def __call__(self, predicted: np.ndarray) -> np.ndarray:
        """Maps predictions (...,) float64; NaN stays NaN."""
        line = self.intercept + self.slope * predicted
        if not self.knots_x.size:
            return line
        steps = np.interp(predicted, self.knots_x, self.knots_y)
        if self.line_share == 0:
            return steps
        return (1 - self.line_share) * steps + self.line_share * line


def average_ties(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorts pairs (n,) by x and averages y over equal x; returns x, y and the summed weights."""
    order = np.argsort(x, kind="stable")
    x, y, weights = x[order], y[order], weights[order]
    first = np.flatnonzero(np.r_[True, x[1:] > x[:-1]])
    if first.size == x.size:
        return x, y, weights
    total = np.add.reduceat(weights, first)
    return x[first], np.add.reduceat(y * weights, first) / total, total


def isotonic_knots(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The knots of the weighted isotonic regression of y on x, for ``np.interp``.

    With ``np.interp``'s flat ends this is scikit-learn's
    ``IsotonicRegression(out_of_bounds="clip")``.

    Args:
        x: (n,) float64, n >= 1, any order, ties allowed.
        y: (n,) float64.
        weights: (n,) float64, positive.

    Returns:
        Increasing knots (k,) and their values (k,): both ends of every block.

    Example:
        >>> isotonic_knots(np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0, 1.0]), np.ones(3))
        (array([0., 1., 2.]), array([0., 2., 2.]))
    """
    from scipy.optimize import isotonic_regression

    x, y, weights = average_ties(x, y, weights)
    fit = isotonic_regression(y, weights=weights)
    ends = np.stack([fit.blocks[:-1], fit.blocks[1:] - 1], axis=1).ravel()
    knots = ends[np.r_[True, ends[1:] > ends[:-1]]]
    return x[knots], fit.x[knots]
