"""Inverse-Variance Denoising: how much an anchor and a prediction each tell about the reward.

Everything is measured within groups, because a constant of the group cancels in its advantages,
and pooled over groups: numerator and denominator are summed apart, so that one nearly constant
group cannot blow up a ratio.
"""

from typing import Any

import numpy as np

__all__ = ["ReferenceWeighter", "WithinGroupMoments"]

_TINY = 1e-12


class WithinGroupMoments:
    """Within-group second moments of measured and mapped rewards, old groups forgotten.

    Args:
        half_life: Anchor groups after which a group's weight is halved.
        prior_df: Degrees of freedom of the prior belief about the covariance.
        prior_correlation: The correlation believed in beforehand, in [0, 1].

    Raises:
        ValueError: ``half_life`` is not positive, ``prior_df`` negative, or ``prior_correlation``
            outside [0, 1].

    Example:
        >>> moments = WithinGroupMoments(prior_df=0)
        >>> moments.add(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 2.0]))
        >>> moments.slope
        0.5
    """

    def __init__(
        self, half_life: float = 32.0, prior_df: float = 8.0, prior_correlation: float = 0.7
    ) -> None:
        if not half_life > 0:
            raise ValueError(f"half_life must be positive, got {half_life!r}")
        if not prior_df >= 0:
            raise ValueError(f"prior_df must not be negative, got {prior_df!r}")
        if not 0 <= prior_correlation <= 1:
            raise ValueError(f"prior_correlation must lie in [0, 1], got {prior_correlation!r}")
        self._decay = 0.5 ** (1 / half_life)
        self._prior_df, self._prior_correlation = prior_df, prior_correlation
        self._sums = np.zeros(6)

    def add(self, measured: np.ndarray, mapped: np.ndarray) -> None:
        """Takes one anchor group.

        Args:
            measured: (n,) float64, n >= 2, measured rewards.
            mapped: (n,) float64, the predictions through the map as it was before this group
                entered it.
        """
        r, f = measured - measured.mean(), mapped - mapped.mean()
        residual = measured - mapped
        new = [r @ r, f @ f, r @ f, r.size - 1, residual.sum(), r.size]
        self._sums = self._sums * self._decay + np.array(new)

    @property
    def variances(self) -> tuple[float, float, float]:
        """Var(r), Var(f) and Cov(r, f) within groups; the covariance carries the prior."""
        s_rr, s_ff, s_rf, df = self._sums[:4]
        if df <= 0:
            return 0.0, 0.0, 0.0
        var_r, var_f = s_rr / df, s_ff / df
        share = self._prior_df / (df + self._prior_df)
        prior = self._prior_correlation * np.sqrt(var_r * var_f)
        return float(var_r), float(var_f), float((1 - share) * s_rf / df + share * prior)

    @property
    def slope(self) -> float:
        """The slope lambda = Cov(r, f) / Var(f), at least 0; 1.0 before any group."""
        if self.degrees_of_freedom == 0:
            return 1.0
        _, var_f, covariance = self.variances
        return max(0.0, covariance / var_f) if var_f > _TINY else 0.0

    @property
    def residual_variance(self) -> float:
        """Var(r - f) within groups, in squared units of the reward."""
        var_r, var_f, covariance = self.variances
        return max(0.0, var_r + var_f - 2 * covariance)

    def anchor_weight(self, largest: float = 4.0) -> float:
        """V_WM / V_E = 1 + s^2, s^2 = Var(r - f) / Var(r) within groups, clipped to ``largest``.

        Derived for centred group advantages whose variance is dominated by the spread within the
        group; 1.0 while nothing is known or measured rewards do not vary.
        """
        var_r = self.variances[0]
        if var_r <= _TINY:
            return 1.0
        return float(min(1 + self.residual_variance / var_r, largest))

    @property
    def degrees_of_freedom(self) -> float:
        """Effective within-group degrees of freedom."""
        return float(self._sums[3])

    @property
    def mean_residual(self) -> float:
        """Mean of r - f over the anchors, 0.0 before any."""
        return float(self._sums[4] / self._sums[5]) if self._sums[5] > 0 else 0.0

    def state_dict(self) -> dict[str, Any]:
        """The six sums."""
        return {"sums": self._sums.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores the sums."""
        self._sums = np.array(state["sums"], dtype=np.float64)


class ReferenceWeighter:
    """The authors' weight: clip(1 + c s^2, 1, 4), c fixed once so that it is 2 after a warm-up.

    s^2 is the mean squared difference of centred predictions and measurements over the variance of
    the measurements, averaged over groups with a half-life (arXiv 2608.12564, public
    configuration). It divides group by group, so nearly constant groups (variance below 1e-9) are
    skipped.

    Example:
        >>> weighter = ReferenceWeighter(warmup=1)
        >>> weighter.add(np.array([0.0, 1.0]), np.array([0.2, 0.6]))
        >>> weighter.anchor_weight()
        2.0
    """

    def __init__(self, half_life: float = 64.0, warmup: int = 32, target: float = 2.0) -> None:
        if not half_life > 0:
            raise ValueError(f"half_life must be positive, got {half_life!r}")
        self._rate = 1 - 0.5 ** (1 / half_life)
        self._warmup, self._target = warmup, target
        self._ratio, self._scale, self._groups = 0.0, 0.0, 0

    def add(self, measured: np.ndarray, mapped: np.ndarray) -> None:
        """Takes one anchor group: (n,) measured and (n,) mapped rewards, float64."""
        variance = float(measured.var())
        if variance < 1e-9:
            return
        difference = (mapped - mapped.mean()) - (measured - measured.mean())
        ratio = float((difference**2).mean()) / variance
        self._ratio = (
            ratio if not self._groups else self._ratio + self._rate * (ratio - self._ratio)
        )
        self._groups += 1
        if not self._scale and self._groups >= self._warmup and self._ratio > _TINY:
            self._scale = (self._target - 1) / self._ratio

    def anchor_weight(self, largest: float = 4.0) -> float:
        """The weight of an anchor's advantage, 1.0 during the warm-up."""
        return float(np.clip(1 + self._scale * self._ratio, 1.0, largest))

    def state_dict(self) -> dict[str, Any]:
        """The running ratio, the fixed scale and the count."""
        return {"ratio": self._ratio, "scale": self._scale, "groups": self._groups}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores them."""
        self._ratio, self._scale = float(state["ratio"]), float(state["scale"])
        self._groups = int(state["groups"])
