"""How well predictions agree with measurements."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from wmrl_envs.wrappers.estimators.ranks import pearson, spearman


@dataclass(frozen=True)
class Fidelity:
    """Agreement of predicted with measured rewards.

    Attributes:
        count: Number of pairs.
        bias: Mean of predicted minus measured.
        mae: Mean absolute error.
        spearman: Rank correlation over all pairs; None where either side is constant.
        within_spearman: Mean rank correlation within groups that vary on both sides; None without
            such a group.
        pearson: Linear correlation over all pairs; None where either side is constant.
        within_pearson: Mean linear correlation within groups, likewise.
    """

    count: int
    bias: float
    mae: float
    spearman: float | None
    within_spearman: float | None
    pearson: float | None = None
    within_pearson: float | None = None


def fidelity(
    predicted: Sequence[float], measured: Sequence[float], groups: Sequence[Hashable] | None = None
) -> Fidelity:
    """Compares predictions with measurements.

    Args:
        predicted: (N,) predicted rewards.
        measured: (N,) measured rewards.
        groups: (N,) labels such as task names, for the agreement within a group.

    Raises:
        ValueError: The lengths differ, there are no pairs, or a value is not finite.

    Example:
        >>> fidelity([0.1, 0.4, 0.9], [0.0, 0.5, 0.8]).spearman
        1.0
    """
    p, m = np.asarray(predicted, dtype=float), np.asarray(measured, dtype=float)
    if p.shape != m.shape or p.ndim != 1 or p.size == 0:
        raise ValueError(
            f"predicted and measured must be equally long and not empty, got {p.shape}, {m.shape}"
        )
    if groups is not None and len(groups) != p.size:
        raise ValueError(f"groups must have {p.size} entries, got {len(groups)}")
    if not (np.isfinite(p).all() and np.isfinite(m).all()):
        raise ValueError("predicted and measured must be finite, got NaN or infinity")
    return Fidelity(
        p.size,
        float((p - m).mean()),
        float(np.abs(p - m).mean()),
        spearman(p, m),
        _within(spearman, p, m, groups),
        pearson(p, m),
        _within(pearson, p, m, groups),
    )


def _within(
    correlation: Callable[[np.ndarray, np.ndarray], float | None],
    p: np.ndarray,
    m: np.ndarray,
    groups: Sequence[Hashable] | None,
) -> float | None:
    members: dict[Hashable, list[int]] = {}
    for i, group in enumerate(groups or ()):
        members.setdefault(group, []).append(i)
    found = [correlation(p[rows], m[rows]) for rows in members.values()]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known else None
