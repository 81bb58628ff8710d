"""Online Debiasing: a monotone map f from predicted to measured rewards, learned on anchor pairs.

Monotone, so that the order within a group survives; not affine, because group advantages cancel
any affine map anyway.
"""

from typing import Any, Protocol

import numpy as np

from wmrl_envs.wrappers.estimators.isotonic import MonotoneMap, isotonic_knots
from wmrl_envs.wrappers.estimators.pairs import PairBuffer, usable_pairs

__all__ = ["BinnedDebiaser", "Debiaser", "IdentityDebiaser", "IsotonicDebiaser", "State"]

State = dict[str, Any]


class Debiaser(Protocol):
    """Something that learns a monotone map from pairs."""

    map: MonotoneMap

    def add(self, predicted: np.ndarray, measured: np.ndarray) -> None:
        """Takes pairs (n,) float64 in order of time and refits; pairs with a NaN are dropped."""
        ...

    @property
    def effective_pairs(self) -> float:
        """The number of pairs that the map rests on, old ones counting less."""
        ...

    @property
    def mean_measured(self) -> float:
        """The mean measured reward of those pairs, 0.0 without any."""
        ...

    def state_dict(self) -> State:
        """Plain arrays and numbers."""
        ...

    def load_state_dict(self, state: State) -> None:
        """Restores what :meth:`state_dict` returned."""
        ...


class IdentityDebiaser:
    """Leaves predictions as they are; what Online Debiasing is switched off with.

    Example:
        >>> debiaser = IdentityDebiaser()
        >>> debiaser.add(np.array([0.2]), np.array([0.9]))
        >>> debiaser.map(np.array([0.2]))
        array([0.2])
    """

    def __init__(self) -> None:
        self.map = MonotoneMap()
        self._sum, self._pairs = 0.0, 0

    def add(self, predicted: np.ndarray, measured: np.ndarray) -> None:
        """Counts the pairs and their mean; the map stays."""
        _, known = usable_pairs((predicted, measured))
        self._sum += float(known.sum())
        self._pairs += known.size

    @property
    def effective_pairs(self) -> float:
        """The number of pairs seen."""
        return float(self._pairs)

    @property
    def mean_measured(self) -> float:
        """The mean measured reward of all pairs, 0.0 without any."""
        return self._sum / self._pairs if self._pairs else 0.0

    def state_dict(self) -> State:
        """The counts."""
        return {"sum": self._sum, "pairs": self._pairs}

    def load_state_dict(self, state: State) -> None:
        """Restores the counts."""
        self._sum, self._pairs = float(state["sum"]), int(state["pairs"])


class IsotonicDebiaser:
    """Recency-weighted isotonic regression, blended with a line while pairs are few.

    f = (n_eff * isotonic + n_0 * line) / (n_eff + n_0). The line passes through the weighted means
    with slope (S_xy + m v) / (S_xx + m v), not below 0: least squares shrunk towards slope 1 by m
    pseudo-pairs of variance v. The blend needs no minimum count, is monotone, and keeps the order
    on the isotonic fit's plateaus. v is the mean of both sides' variances, which makes the map
    equivariant under a common change of units of predictions and measurements.

    Args:
        half_life: Pairs after which a pair's weight is halved; ``None`` never forgets.
        prior_pairs: n_0, the line's weight in pairs; 0 is the plain isotonic regression.
        slope_pairs: m, the weight of slope 1 in pairs.
        capacity: Only the newest pairs up to this number are kept.

    Raises:
        ValueError: An argument is negative, or ``half_life`` or ``capacity`` is zero.

    Example:
        >>> debiaser = IsotonicDebiaser(prior_pairs=0)
        >>> debiaser.add(np.array([0.2, 0.4, 0.9]), np.array([0.0, 0.5, 0.3]))
        >>> debiaser.map(np.array([0.0, 0.2, 0.9, 2.0])).round(2)
        array([0. , 0. , 0.4, 0.4])
    """

    def __init__(
        self,
        half_life: float | None = 512.0,
        prior_pairs: float = 32.0,
        slope_pairs: float = 16.0,
        capacity: int = 3000,
    ) -> None:
        if half_life is not None and not half_life > 0:
            raise ValueError(f"half_life must be positive or None, got {half_life!r}")
        if not prior_pairs >= 0:
            raise ValueError(f"prior_pairs must not be negative, got {prior_pairs!r}")
        if not slope_pairs >= 0:
            raise ValueError(f"slope_pairs must not be negative, got {slope_pairs!r}")
        self.map = MonotoneMap()
        self.effective_pairs = 0.0
        self.mean_measured = 0.0
        self._prior_pairs, self._slope_pairs = prior_pairs, slope_pairs
        self._buffer = PairBuffer(capacity)
        ages = np.arange(capacity)[::-1]
        self._weights = np.ones(capacity) if half_life is None else 0.5 ** (ages / half_life)

    def add(self, predicted: np.ndarray, measured: np.ndarray) -> None:
        """Takes pairs (n,) float64 in order of time and refits; pairs with a NaN are dropped."""
        if self._buffer.add(predicted, measured):
            self._fit()

    def _fit(self) -> None:
        x, y = self._buffer.predicted, self._buffer.measured
        weights = self._weights[-x.size :]
        total = float(weights.sum())
        mean_x, mean_y = float(weights @ x) / total, float(weights @ y) / total
        slope = self._slope(x - mean_x, y - mean_y, weights, total)
        knots_x, knots_y = isotonic_knots(x, y, weights)
        share = self._prior_pairs / (total + self._prior_pairs)
        self.map = MonotoneMap(knots_x, knots_y, mean_y - slope * mean_x, slope, share)
        self.effective_pairs, self.mean_measured = total, mean_y

    def _slope(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray, total: float) -> float:
        s_xx, s_xy = float(weights @ (x * x)), float(weights @ (x * y))
        pseudo = self._slope_pairs * (s_xx + float(weights @ (y * y))) / (2 * total)
        if s_xx + pseudo <= 0:
            return 1.0
        return max(0.0, (s_xy + pseudo) / (s_xx + pseudo))

    def state_dict(self) -> State:
        """The pairs; the map follows from them."""
        return self._buffer.state_dict()

    def load_state_dict(self, state: State) -> None:
        """Restores the pairs and refits."""
        self._buffer.load_state_dict(state)
        self.map, self.effective_pairs, self.mean_measured = MonotoneMap(), 0.0, 0.0
        if len(self._buffer):
            self._fit()


class BinnedDebiaser:
    """The authors' calibrator: isotonic regression on the means of equal bins of [0, 1].

    Identity below ``min_pairs``, refitted when ``refit_every`` new pairs have come (arXiv
    2608.12564, public configuration).

    Example:
        >>> debiaser = BinnedDebiaser()
        >>> debiaser.add(np.full(100, 0.45), np.full(100, 0.3))
        >>> debiaser.map(np.array([0.45]))
        array([0.45])
    """

    def __init__(
        self, bins: int = 10, min_pairs: int = 200, refit_every: int = 64, capacity: int = 5000
    ) -> None:
        if bins < 2:
            raise ValueError(f"bins must be at least 2, got {bins!r}")
        self.map = MonotoneMap()
        self._bins, self._min_pairs, self._refit_every = bins, min_pairs, refit_every
        self._buffer = PairBuffer(capacity)
        self._new_pairs = 0

    def add(self, predicted: np.ndarray, measured: np.ndarray) -> None:
        """Takes pairs (n,) float64 in order of time; refits when enough have come."""
        self._new_pairs += self._buffer.add(predicted, measured)
        if len(self._buffer) >= self._min_pairs and self._new_pairs >= self._refit_every:
            self._fit()

    def _fit(self) -> None:
        x, y = self._buffer.predicted, self._buffer.measured
        place = np.clip((x * self._bins).astype(int), 0, self._bins - 1)
        count = np.bincount(place, minlength=self._bins)
        used = count > 0
        if used.sum() < 2:
            return
        mean_x = np.bincount(place, x, self._bins)[used] / count[used]
        mean_y = np.bincount(place, y, self._bins)[used] / count[used]
        knots = isotonic_knots(mean_x, mean_y, count[used].astype(np.float64))
        self.map = MonotoneMap(*knots, line_share=0.0)
        self._new_pairs = 0

    @property
    def effective_pairs(self) -> float:
        """The number of pairs kept."""
        return float(len(self._buffer))

    @property
    def mean_measured(self) -> float:
        """The mean measured reward of the pairs kept, 0.0 without any."""
        return float(self._buffer.measured.mean()) if len(self._buffer) else 0.0

    def state_dict(self) -> State:
        """The pairs, the knots of the last fit, and the pairs that came after it."""
        knots = {"knots_x": self.map.knots_x.copy(), "knots_y": self.map.knots_y.copy()}
        return {**self._buffer.state_dict(), **knots, "new_pairs": self._new_pairs}

    def load_state_dict(self, state: State) -> None:
        """Restores pairs and knots."""
        self._buffer.load_state_dict(state)
        self._new_pairs = int(state["new_pairs"])
        knots = np.array(state["knots_x"], np.float64), np.array(state["knots_y"], np.float64)
        self.map = MonotoneMap(*knots, line_share=0.0) if knots[0].size else MonotoneMap()
