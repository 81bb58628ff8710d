"""Group-relative advantages: centred in the group, scaled, then weighted (numpy alone).

GRPO (Shao et al. 2024, arXiv 2402.03300, equation 3) compares an episode with the others that
started from the same state. Two things are added here: rows that nobody graded take no part, and a
row may carry a weight (Inverse-Variance Denoising, arXiv 2608.12564).
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Advantages", "Scale", "group_advantages"]

Scale = Literal["batch", "group", "none"]
"""The divisor of centred rewards: one standard deviation for all, each group's own, none."""


@dataclass(frozen=True)
class Advantages:
    """Advantages of a batch of episodes.

    Attributes:
        values: (N,), float64; 0.0 wherever ``used`` is False.
        used: (N,), bool: the row was graded, and so was at least one other row of its group.
    """

    values: NDArray[np.float64]
    used: NDArray[np.bool_]


def group_advantages(
    rewards: ArrayLike,
    groups: ArrayLike,
    *,
    graded: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    scale: Scale = "batch",
    std_floor: float = 1e-4,
) -> Advantages:
    """Computes ``weight * (reward - mean of the group) / max(std, std_floor)``.

    Only graded rows enter means and standard deviations, and a group with fewer than two of them is
    left out. A group whose graded rewards are all equal gets exactly 0.

    Weights multiply last, and the standard deviation is that of the *unweighted* centred rewards.
    So they survive each scale: a row of weight 2 pulls exactly twice as hard, and its weight
    changes no other row. Note that ``scale="group"`` still undoes any factor that a group's
    *rewards* carry (the rectified correction puts one there); "batch" and "none" keep it.

    Args:
        rewards: (N,), the episodes' rewards; values of ungraded rows are never read.
        groups: (N,), integers; equal numbers form a group, in any order.
        graded: (N,), bool; None means that every row is graded.
        weights: (N,), finite and not negative; None means 1.0.
        scale: "batch" divides by the population standard deviation of all centred rewards that are
            used, "group" by each group's own (as GRPO does), "none" does not divide.
        std_floor: The least divisor, in units of reward; keeps near-constant rewards from being
            blown up to full size.

    Returns:
        The advantages and the mask of the rows that take part.

    Raises:
        ValueError: Shapes differ, a graded reward or a weight is not finite, a weight is negative,
            or ``scale`` or ``std_floor`` is out of range.

    Example:
        >>> group_advantages([1.0, 0.0, 5.0, 5.0], [7, 7, 8, 8], scale="none").values
        array([ 0.5, -0.5,  0. ,  0. ])
    """
    _check_settings(scale, std_floor)
    reward, group, is_graded, weight = _check_rows(rewards, groups, graded, weights)
    centred = np.zeros_like(reward)
    spread = np.ones_like(reward)
    used = np.zeros(reward.shape, dtype=bool)
    for rows in _graded_groups(group, is_graded):
        used[rows] = True
        centred[rows] = _centre(reward[rows])
        spread[rows] = np.sqrt(np.mean(centred[rows] ** 2))
    if scale == "batch" and used.any():
        spread[:] = np.sqrt(np.mean(centred[used] ** 2))
    if scale != "none":
        centred /= np.maximum(spread, std_floor)
    return Advantages(centred * weight, used)


def _graded_groups(group: NDArray[np.int64], graded: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    rows = [np.flatnonzero((group == g) & graded) for g in np.unique(group)]
    return [r for r in rows if r.size >= 2]


def _centre(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtracts the mean; equal rewards give exactly 0, which rounding of the mean would not."""
    if rewards.max() == rewards.min():
        return np.zeros_like(rewards)
    centred: NDArray[np.float64] = rewards - rewards.mean()
    return centred


def _check_settings(scale: str, std_floor: float) -> None:
    if scale not in get_args(Scale):
        raise ValueError(f"scale must be one of {get_args(Scale)}, got {scale!r}")
    if not (np.isfinite(std_floor) and std_floor >= 0):
        raise ValueError(f"std_floor must be finite and >= 0, got {std_floor!r}")
    if std_floor == 0 and scale != "none":
        raise ValueError(
            "std_floor must be > 0 unless scale='none', got 0: equal rewards divide by it"
        )


def _check_rows(
    rewards: ArrayLike, groups: ArrayLike, graded: ArrayLike | None, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]:
    reward = np.asarray(rewards, dtype=np.float64)
    if reward.ndim != 1:
        raise ValueError(f"rewards must have shape (N,), got {reward.shape}")
    n = reward.shape
    group = _shaped("groups", np.asarray(groups), n)
    if n[0] and not np.issubdtype(group.dtype, np.integer):
        raise ValueError(f"groups must be integers, got dtype {group.dtype}")
    is_graded = _shaped("graded", np.ones(n, bool) if graded is None else np.asarray(graded), n)
    if is_graded.dtype != bool:
        raise ValueError(f"graded must be a bool array, got dtype {is_graded.dtype}")
    given = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    weight = _shaped("weights", given, n)
    if not np.isfinite(reward[is_graded]).all():
        raise ValueError(f"rewards of graded rows must be finite, got {reward[is_graded]}")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError(f"weights must be finite and >= 0, got {weight}")
    return np.where(is_graded, reward, 0.0), group.astype(np.int64), is_graded, weight


def _shaped(name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape of rewards {shape}, got {array.shape}")
    return array
