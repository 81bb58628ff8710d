"""The correction: from predictions and measurements to rewards and weights."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from wmrl_envs.wrappers.estimators.debias import (
    BinnedDebiaser,
    Debiaser,
    IdentityDebiaser,
    IsotonicDebiaser,
    State,
)
from wmrl_envs.wrappers.estimators.denoise import ReferenceWeighter, WithinGroupMoments
from wmrl_envs.wrappers.estimators.fitted import Corrected, FittedCorrection
from wmrl_envs.wrappers.estimators.pairs import Pairs, usable_pairs

__all__ = ["Correction", "Method"]

Method = Literal["rectified", "paper", "reference"]

_LONE_GROUP = 8


class Correction:
    """Online Debiasing and Inverse-Variance Denoising, learned from anchor pairs as they come.

    * ``"rectified"`` (default): f blends an isotonic map and a line; lambda = Cov(r, f) / Var(f)
      within groups; a world-model episode's reward is lambda f, an anchor's
      lambda f + k (r - lambda f), k = min(max_rectify, 1 / fraction). k = 1 / fraction is the
      unbiased prediction-powered estimator, k = 1 adds nothing to debiasing and denoising.
    * ``"paper"``: f(prediction) replaces the prediction; an anchor's advantage weighs
      V_WM / V_E = 1 + s^2, s^2 = Var(r - f) / Var(r) within groups on held-out residuals.
    * ``"reference"``: the authors' binned map and weight with their constants (arXiv 2608.12564).

    Where anchors are many, as on LIBERO, whose success is known after every episode, they would
    silence the world model. With ``joint`` an anchor episode belongs to both streams: its reward is
    their inverse-variance mean (w r + lambda f) / (w + 1), w = V_WM / V_E, and its weight 1.

    Residuals and moments of a group are taken with the map as it was before the group entered it.
    Anchor groups of a single episode have no spread; eight of them are pooled into one group. A
    learner that divides by the group's standard deviation afterwards undoes every weight here.

    Args:
        method: One of the three above.
        debias: False leaves predictions as they are.
        denoise: False gives every episode weight 1 and, under ``"rectified"``, lambda = k = 1.
        fraction: The anchors' share of groups, for k.
        half_life: Pairs after which a pair's weight in the map is halved.
        prior_pairs: The line's weight in the map, in pairs; 0 is the plain isotonic regression.
        capacity: The most pairs kept.
        moments_half_life: Anchor groups after which a group's weight in the moments is halved.
        prior_df: Degrees of freedom of the moments' prior.
        prior_correlation: That prior's correlation of r and f.
        max_weight: Upper bound of an anchor's weight under ``"paper"`` and ``"reference"``.
        max_rectify: Upper bound of k.
        joint: Anchor episodes also count as world-model episodes; k and the anchors' weight give
            way to that mean. Without ``denoise`` it is the plain one.
        frozen: True turns :meth:`update` off, for evaluation.

    Raises:
        ValueError: An argument is out of its range.

    Example:
        >>> correction = Correction("paper")
        >>> correction.update([(np.array([0.5, 0.9]), np.array([0.1, 0.6]))])
        >>> predicted, measured = np.array([0.5, 0.9]), np.array([np.nan, 0.6])
        >>> result = correction.correct(predicted, measured, anchor=np.array([False, True]))
        >>> result.reward.round(2)
        array([0.14, 0.6 ])
    """

    def __init__(
        self,
        method: Method = "rectified",
        *,
        debias: bool = True,
        denoise: bool = True,
        fraction: float = 0.1,
        half_life: float | None = 512.0,
        prior_pairs: float = 32.0,
        capacity: int = 3000,
        moments_half_life: float = 32.0,
        prior_df: float = 8.0,
        prior_correlation: float = 0.7,
        max_weight: float = 4.0,
        max_rectify: float = 3.0,
        joint: bool = False,
        frozen: bool = False,
    ) -> None:
        if method not in get_args(Method):
            raise ValueError(f"method must be one of {get_args(Method)}, got {method!r}")
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must lie in [0, 1], got {fraction!r}")
        if not max_weight >= 1:
            raise ValueError(f"max_weight must be at least 1, got {max_weight!r}")
        if not max_rectify >= 1:
            raise ValueError(f"max_rectify must be at least 1, got {max_rectify!r}")
        self.method, self.debias, self.denoise, self.frozen = method, debias, denoise, frozen
        self.joint = joint
        self._isotonic = {
            "half_life": half_life,
            "prior_pairs": prior_pairs,
            "capacity": capacity,
        }
        self._max_weight = max_weight
        self._fraction, self._max_rectify = fraction, max_rectify
        self._debiaser = self._new_debiaser()
        self._moments = WithinGroupMoments(moments_half_life, prior_df, prior_correlation)
        self._reference = ReferenceWeighter()
        self._lone: Pairs = np.empty(0), np.empty(0)
        self._episodes, self._anchors = 0, 0
        self.current = self._fitted()

    @property
    def fraction(self) -> float:
        """The anchors' share of groups, for k; it may be set when the share changes."""
        return self._fraction

    @fraction.setter
    def fraction(self, fraction: float) -> None:
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must lie in [0, 1], got {fraction!r}")
        if fraction != self._fraction:
            self._fraction = fraction
            self.current = self._fitted()

    @property
    def _rectify(self) -> float:
        return min(self._max_rectify, 1 / self._fraction if self._fraction else self._max_rectify)

    def _new_debiaser(self) -> Debiaser:
        if not self.debias:
            return IdentityDebiaser()
        if self.method == "reference":
            return BinnedDebiaser()
        return IsotonicDebiaser(**self._isotonic)  # type: ignore[arg-type]

    def _fitted(self) -> FittedCorrection:
        fitted = self._debiaser.map
        if not self.denoise:
            return FittedCorrection(fitted, rectify=0.5 if self.joint else 1.0)
        weighter = self._reference if self.method == "reference" else self._moments
        weight = weighter.anchor_weight(self._max_weight)
        share = weight / (weight + 1) if self.joint else None
        if self.method == "rectified":
            centre = self._debiaser.mean_measured
            return FittedCorrection(fitted, self._moments.slope, centre, share or self._rectify)
        if share is not None:
            return FittedCorrection(fitted, rectify=share)
        return FittedCorrection(fitted, anchor_weight=weight)

    def update(self, groups: Iterable[Pairs]) -> None:
        """Learns from anchor groups, in order of time; does nothing while ``frozen``.

        Args:
            groups: (predicted, measured) of each group, both (n,) with NaN where there is none;
                such rows are left out.

        Raises:
            ValueError: The two sides of a group differ in shape.
        """
        usable = [pair for pair in map(usable_pairs, groups) if pair[0].size]
        if self.frozen or not usable:
            return
        for predicted, measured in usable:
            self._add_moments(measured, self._debiaser.map(predicted))
        self._debiaser.add(*map(np.concatenate, zip(*usable, strict=True)))
        self.current = self._fitted()

    def _add_moments(self, measured: np.ndarray, mapped: np.ndarray) -> None:
        if measured.size == 1:
            self._lone = np.r_[self._lone[0], measured], np.r_[self._lone[1], mapped]
            if self._lone[0].size < _LONE_GROUP:
                return
            measured, mapped = self._lone
            self._lone = np.empty(0), np.empty(0)
        self._moments.add(measured, mapped)
        self._reference.add(measured, mapped)

    def seed_pairs(
        self,
        predicted: np.ndarray,
        measured: np.ndarray,
        groups: Sequence[Any] | np.ndarray | None = None,
    ) -> None:
        """Starts the map from a world model's log, before the first anchor.

        Args:
            predicted: (n,) **out-of-fold** predictions: each from a model that was fitted without
                this row. Predictions of a row that the model has seen look free of bias.
            measured: (n,) the log's measured rewards.
            groups: (n,) what each row's group would be, such as its task; starts the moments too,
                with maps fitted on the other half of the groups.

        Raises:
            ValueError: The arguments differ in length.
        """
        pairs = usable_pairs((predicted, measured))
        if groups is not None:
            self._seed_moments(np.asarray(predicted, np.float64), np.asarray(measured), groups)
        self._debiaser.add(*pairs)
        self.current = self._fitted()

    def _seed_moments(
        self, predicted: np.ndarray, measured: np.ndarray, groups: Sequence[Any] | np.ndarray
    ) -> None:
        if len(groups) != predicted.size:
            raise ValueError(f"groups must have length {predicted.size}, got {len(groups)}")
        number = np.unique(np.asarray(groups), return_inverse=True)[1]
        for half in (0, 1):
            debiaser = self._new_debiaser()
            debiaser.add(
                *usable_pairs((predicted[number % 2 != half], measured[number % 2 != half]))
            )
            for group in range(half, int(number.max(initial=-1)) + 1, 2):
                x, r = usable_pairs((predicted[number == group], measured[number == group]))
                if x.size > 1:
                    self._add_moments(r, debiaser.map(x))

    def correct(
        self,
        predicted: np.ndarray,
        measured: np.ndarray,
        anchor: np.ndarray,
        using: FittedCorrection | None = None,
    ) -> Corrected:
        """Corrects a batch of N episodes and counts them.

        Args:
            predicted: (N,) float64, NaN where the world model gave no prediction.
            measured: (N,) float64, NaN where the reward was not measured.
            anchor: (N,) bool.
            using: An earlier :attr:`current`, for the rest of a group that it began.

        Returns:
            See :meth:`FittedCorrection.correct`.
        """
        self._episodes += int(np.size(anchor))
        self._anchors += int(np.sum(anchor))
        return (using or self.current).correct(
            np.asarray(predicted, np.float64),
            np.asarray(measured, np.float64),
            np.asarray(anchor, bool),
        )

    def diagnostics(self) -> dict[str, float]:
        """What is worth logging at every step.

        Returns:
            ``slope`` (lambda), ``rectify`` (k), ``anchor_weight``, ``residual_variance`` (within
            groups, squared reward), ``effective_pairs``, ``anchor_share`` (realised),
            ``mean_residual`` (r - f before a group entered the map; it tells drift).
        """
        return {
            "slope": self.current.slope,
            "rectify": self.current.rectify,
            "anchor_weight": self.current.anchor_weight,
            "residual_variance": self._moments.residual_variance,
            "effective_pairs": float(self._debiaser.effective_pairs),
            "anchor_share": self._anchors / self._episodes if self._episodes else 0.0,
            "mean_residual": self._moments.mean_residual,
        }

    def state_dict(self) -> State:
        """Everything learned: a flat dict of arrays and numbers, fit for ``numpy.savez``."""
        state: State = {"episodes": self._episodes, "anchors": self._anchors}
        state["lone/measured"], state["lone/mapped"] = (side.copy() for side in self._lone)
        for name, part in self._parts().items():
            state |= {f"{name}/{key}": value for key, value in part.state_dict().items()}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` returned, bit for bit.

        Raises:
            ValueError: A key is missing, as in the state of another method.
        """
        missing = self.state_dict().keys() - state.keys()
        if missing:
            raise ValueError(
                f"state lacks {sorted(missing)}; it must come from a correction with method="
                f"{self.method!r}, debias={self.debias!r}, got the keys {sorted(state)}"
            )
        self._episodes, self._anchors = int(state["episodes"]), int(state["anchors"])
        self._lone = np.array(state["lone/measured"]), np.array(state["lone/mapped"])
        for name, part in self._parts().items():
            prefix = f"{name}/"
            part.load_state_dict(
                {key[len(prefix) :]: state[key] for key in state if key.startswith(prefix)}
            )
        self.current = self._fitted()

    def _parts(self) -> dict[str, Any]:
        return {
            "debias": self._debiaser,
            "moments": self._moments,
            "reference": self._reference,
        }
