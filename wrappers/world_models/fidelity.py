"""How well predictions agree with measurements."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np


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
    """

    count: int
    bias: float
    mae: float
    spearman: float | None
    within_spearman: float | None


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
        _spearman(p, m),
        _within(p, m, groups),
    )


def _spearman(p: np.ndarray, m: np.ndarray) -> float | None:
    from scipy.stats import spearmanr

    if p.size < 2 or np.ptp(p) == 0 or np.ptp(m) == 0:
        return None
    return float(spearmanr(p, m).statistic)


def _within(p: np.ndarray, m: np.ndarray, groups: Sequence[Hashable] | None) -> float | None:
    if groups is None:
        return None
    members: dict[Hashable, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    found = [_spearman(p[rows], m[rows]) for rows in members.values()]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known else None
