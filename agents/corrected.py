"""From predictions and measurements to advantages: the step that all trainers' adapters share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wmrl_envs.agents.advantages import Scale, group_advantages

__all__ = ["Anchors", "CorrectedAdvantages", "Correction", "corrected_advantages"]


class Anchors(Protocol):
    """Tells which groups are measured: a pure function, so that all processes agree.

    ``wmrl_envs.wrappers.estimators.anchors.AnchorDraw`` is one.
    """

    def __call__(self, groups: np.ndarray) -> np.ndarray:
        """(N,) int64 group ids to (N,) bool."""
        ...


class Correction(Protocol):
    """What ``wmrl_envs.wrappers.estimators.correction.Correction`` offers."""

    def update(self, groups: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
        """Learns from (predicted, measured) of anchor groups."""

    def correct(self, predicted: np.ndarray, measured: np.ndarray, anchor: np.ndarray) -> Any:
        """(N,) predictions and measurements to an object with (N,) ``reward`` and ``weight``."""

    def diagnostics(self) -> dict[str, float]:
        """What is worth logging."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Plain arrays and numbers."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores :meth:`state_dict`."""


@dataclass(frozen=True)
class CorrectedAdvantages:
    """What a batch of N episodes teaches.

    Attributes:
        rewards: (N,) float64, corrected; NaN where the episode is ungraded.
        advantages: (N,) float64, weighted; 0.0 where the episode takes no part.
        weights: (N,) float64, those of the advantages.
    """

    rewards: np.ndarray
    advantages: np.ndarray
    weights: np.ndarray

    @property
    def graded(self) -> np.ndarray:
        """(N,) bool."""
        return np.isfinite(self.rewards)


def corrected_advantages(
    correction: Correction,
    predicted: np.ndarray,
    measured: np.ndarray,
    anchor: np.ndarray,
    groups: np.ndarray,
    *,
    scale: Scale = "batch",
    std_floor: float = 1e-4,
) -> CorrectedAdvantages:
    """Lets the anchors' pairs enter the correction, then corrects the batch with it.

    Args:
        correction: It learns from the anchor groups of this batch, in the order of their ids.
        predicted: (N,) float64, NaN where the world model has no opinion.
        measured: (N,) float64, NaN where nothing was measured.
        anchor: (N,) bool.
        groups: (N,) int64 group ids, in any order.
        scale: See :func:`~wmrl_envs.agents.advantages.group_advantages`.
        std_floor: The least divisor.

    Raises:
        ValueError: Shapes differ, or an argument is out of its range.
    """
    members = [groups == group for group in np.unique(groups[anchor])]
    correction.update([(predicted[rows], measured[rows]) for rows in members])
    corrected = correction.correct(predicted, measured, anchor)
    advantages = group_advantages(
        corrected.reward,
        groups,
        graded=np.isfinite(corrected.reward),
        weights=corrected.weight,
        scale=scale,
        std_floor=std_floor,
    )
    return CorrectedAdvantages(corrected.reward, advantages.values, corrected.weight)
