"""Pairs of a predicted and a measured reward, the anchors' yield."""

from typing import Any

import numpy as np

__all__ = ["PairBuffer", "Pairs", "usable_pairs"]

Pairs = tuple[np.ndarray, np.ndarray]
"""(predicted, measured), both (n,)."""


def usable_pairs(pairs: Pairs) -> Pairs:
    """The rows (n,) of (predicted, measured) that have both, as float64.

    Raises:
        ValueError: The two sides differ in shape.

    Example:
        >>> usable_pairs((np.array([0.2, 0.5]), np.array([np.nan, 0.4])))
        (array([0.5]), array([0.4]))
    """
    predicted, measured = (np.asarray(side, np.float64).ravel() for side in pairs)
    if predicted.shape != measured.shape:
        raise ValueError(
            f"predicted and measured must have one shape, got {predicted.shape} and "
            f"{measured.shape}"
        )
    kept = np.isfinite(predicted) & np.isfinite(measured)
    return predicted[kept], measured[kept]


class PairBuffer:
    """The newest pairs in order of time, at most ``capacity``.

    Args:
        capacity: The most pairs kept, at least 1.

    Raises:
        ValueError: ``capacity`` is below 1.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity!r}")
        self.capacity = capacity
        self.predicted = self.measured = np.empty(0)

    def __len__(self) -> int:
        return self.predicted.size

    def add(self, predicted: np.ndarray, measured: np.ndarray) -> int:
        """Appends the pairs (n,) that have both sides; returns how many those were."""
        predicted, measured = usable_pairs((predicted, measured))
        self.predicted = np.r_[self.predicted, predicted][-self.capacity :]
        self.measured = np.r_[self.measured, measured][-self.capacity :]
        return measured.size

    def state_dict(self) -> dict[str, Any]:
        """The pairs."""
        return {"predicted": self.predicted.copy(), "measured": self.measured.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores the pairs."""
        self.predicted = np.array(state["predicted"], dtype=np.float64)[-self.capacity :]
        self.measured = np.array(state["measured"], dtype=np.float64)[-self.capacity :]
