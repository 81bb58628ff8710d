"""Where predictions are wrong: by the level of the reward, and along a calibration curve."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = [
    "LADDER",
    "CalibrationPoint",
    "LevelBias",
    "bias_by_level",
    "calibration_curve",
    "level_confusion",
    "reward_levels",
]

LADDER = (
    ("no code", -np.inf),
    ("failed", 0.05),
    ("no submission", 0.15),
    ("valid, lower half", 0.35),
    ("valid, upper half", 0.75),
)
"""The levels of AutoResearch's ladder (0, 0.1, 0.2, from 0.5) and the reward that each begins at:
halfway from the level beneath."""


def reward_levels(rewards: Sequence[float] | np.ndarray) -> np.ndarray:
    """The level of each reward, (N,) int64 places in :data:`LADDER`.

    Example:
        >>> reward_levels([0.0, 0.1, 0.2, 0.5, 0.9])
        array([0, 1, 2, 3, 4])
    """
    starts = [start for _, start in LADDER[1:]]
    return np.digitize(np.asarray(rewards, dtype=np.float64), starts)


@dataclass(frozen=True)
class LevelBias:
    """The error of predictions whose measured reward lies on one level.

    Attributes:
        level: The level's name.
        count: Number of pairs.
        bias: Mean of predicted minus measured.
        mae: Mean absolute error.
    """

    level: str
    count: int
    bias: float
    mae: float


def bias_by_level(predicted: Sequence[float], measured: Sequence[float]) -> list[LevelBias]:
    """The error on each level of the measured reward that has pairs.

    Example:
        >>> bias_by_level([0.4, 0.6], [0.1, 0.1])
        [LevelBias(level='failed', count=2, bias=0.4, mae=0.4)]
    """
    error = np.asarray(predicted, dtype=np.float64) - np.asarray(measured, dtype=np.float64)
    levels = reward_levels(measured)
    return [
        LevelBias(name, len(found), float(found.mean()), float(np.abs(found).mean()))
        for i, (name, _) in enumerate(LADDER)
        if len(found := error[levels == i])
    ]


def level_confusion(predicted: Sequence[float], measured: Sequence[float]) -> np.ndarray:
    """How often a measured level (row) is predicted as a level (column).

    A regression that is unsure between two levels answers with one between them, so a column may
    hold what no single episode of that level is like.

    Returns:
        (5, 5) int64 counts, in the order of :data:`LADDER`.

    Example:
        >>> level_confusion([0.9, 0.1, 0.8], [0.9, 0.9, 0.1]).sum(axis=1)
        array([0, 1, 0, 0, 2])
    """
    counts = np.zeros((len(LADDER), len(LADDER)), dtype=np.int64)
    np.add.at(counts, (reward_levels(measured), reward_levels(predicted)), 1)
    return counts


@dataclass(frozen=True)
class CalibrationPoint:
    """The predictions in one bin.

    Attributes:
        predicted: Their mean.
        measured: The mean of what was measured.
        count: Their number.
    """

    predicted: float
    measured: float
    count: int


def calibration_curve(
    predicted: Sequence[float] | np.ndarray, measured: Sequence[float] | np.ndarray, bins: int = 10
) -> list[CalibrationPoint]:
    """Means of both sides in bins of as equal numbers of predictions as ties allow.

    Args:
        predicted: (N,) predicted rewards.
        measured: (N,) measured rewards.
        bins: The most bins.

    Raises:
        ValueError: ``bins`` is below 1, or the lengths differ.

    Example:
        >>> calibration_curve([0.1, 0.3, 0.6, 0.8], [0.0, 0.2, 0.9, 0.9], bins=2)
        [CalibrationPoint(predicted=0.2, measured=0.1, count=2), \
CalibrationPoint(predicted=0.7, measured=0.9, count=2)]
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins!r}")
    x, y = np.asarray(predicted, dtype=np.float64), np.asarray(measured, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"predicted and measured must be equally long, got {x.shape}, {y.shape}")
    edges = np.unique(np.quantile(x, np.linspace(0, 1, bins + 1)[1:-1])) if x.size else x
    place = np.digitize(x, edges)
    return [
        CalibrationPoint(float(x[rows].mean()), float(y[rows].mean()), int(rows.sum()))
        for rows in (place == k for k in range(len(edges) + 1))
        if rows.any()
    ]
