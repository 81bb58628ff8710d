"""The correction at one moment: an immutable function from a batch to rewards and weights."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wmrl_envs.wrappers.estimators.isotonic import MonotoneMap

__all__ = ["Corrected", "FittedCorrection"]


class Corrected(NamedTuple):
    """What the correction says of a batch of N episodes; all (N,) float64.

    Attributes:
        corrected: The predictions through the map; NaN where there is no prediction.
        reward: The reward for the agent; NaN where the episode is ungraded.
        weight: The weight of the episode's advantage.
    """

    corrected: np.ndarray
    reward: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True)
class FittedCorrection:
    """The correction at one moment; a group corrected with one of these keeps its order.

    Attributes:
        map: The debiasing map f.
        slope: lambda, what a unit of f is worth in measured reward.
        centre: The reward that lambda shrinks towards. It is the same for a whole group and cancels
            in group advantages; for other learners it keeps both kinds of episode on one level.
        rectify: k, how many times an anchor's residual counts; below 1 it is the measured share of
            an anchor's reward, see ``joint`` of :class:`Correction`.
        anchor_weight: The weight of an anchor's advantage.
    """

    map: MonotoneMap = field(default_factory=MonotoneMap)
    slope: float = 1.0
    centre: float = 0.0
    rectify: float = 1.0
    anchor_weight: float = 1.0

    def correct(self, predicted: np.ndarray, measured: np.ndarray, anchor: np.ndarray) -> Corrected:
        """Corrects a batch of N episodes.

        Args:
            predicted: (N,) float64, NaN where the world model gave no prediction.
            measured: (N,) float64, NaN where the reward was not measured.
            anchor: (N,) bool. A member of an anchor group without a measurement is ungraded: its
                prediction does not stand on one level with its group's measurements.

        Returns:
            A world-model episode's reward lambda f, an anchor's lambda f + k (r - lambda f), both
            up to the constant of :attr:`centre`; r for an anchor without a prediction.
        """
        mapped = self.map(predicted)
        level = self.centre + self.slope * (mapped - self.centre) if self.slope != 1 else mapped
        level = np.where(np.isnan(level) & anchor, measured, level)
        rectified = self.rectify * measured + (1 - self.rectify) * level
        weight = np.where(anchor, self.anchor_weight, 1.0)
        return Corrected(mapped, np.where(anchor, rectified, level), weight)
