"""From the unit cube in which a model acts to the actions of the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ActionStatistics", "chosen_statistics", "dataset_actions", "libero_actions"]


@dataclass(frozen=True)
class ActionStatistics:
    """The range of the actions that a model was trained on, as in OpenVLA (arXiv 2406.09246).

    Attributes:
        q01: (A,), the 1 % quantile of each value of an action.
        q99: (A,), the 99 % quantile.
        mask: (A,), bool: was the value normalised? The gripper's usually was not.

    Example:
        >>> statistics = ActionStatistics.from_dict({"q01": [-2, 0], "q99": [4, 1], "mask": [1, 0]})
        >>> statistics.unnormalized([0.0, 0.25]).tolist()
        [1.0, 0.25]
    """

    q01: NDArray[np.float64]
    q99: NDArray[np.float64]
    mask: NDArray[np.bool_]

    @classmethod
    def from_dict(cls, action: Mapping[str, Any]) -> "ActionStatistics":
        """Reads the ``"action"`` entry of one dataset's statistics.

        Raises:
            ValueError: A quantile is missing, or the lengths differ.
        """
        missing = [name for name in ("q01", "q99") if name not in action]
        if missing:
            raise ValueError(f"action statistics must hold q01 and q99, {missing} missing")
        low, high = (np.asarray(action[name], dtype=np.float64) for name in ("q01", "q99"))
        mask = np.asarray(action.get("mask", np.ones_like(low)), dtype=np.bool_)
        if not low.shape == high.shape == mask.shape or low.ndim != 1:
            raise ValueError(
                "q01, q99 and mask must be vectors of one length, got shapes "
                f"{low.shape}, {high.shape}, {mask.shape}"
            )
        return cls(low, high, mask)

    @property
    def size(self) -> int:
        """Values of an action, A."""
        return len(self.q01)

    def unnormalized(self, values: ArrayLike) -> NDArray[np.float64]:
        """Maps -1 to ``q01`` and 1 to ``q99`` where the mask says so, (..., A)."""
        array = np.asarray(values, dtype=np.float64)
        scaled = 0.5 * (array + 1) * (self.q99 - self.q01) + self.q01
        return np.where(self.mask, scaled, array)

    def normalized(self, actions: ArrayLike) -> NDArray[np.float64]:
        """Maps ``q01`` to -1 and ``q99`` to 1 where the mask says so, (..., A).

        A value that never varied is mapped to -1, the nearest that its range has.
        """
        array = np.asarray(actions, dtype=np.float64)
        width = np.where(self.q99 > self.q01, self.q99 - self.q01, np.inf)
        return np.where(self.mask, 2 * (array - self.q01) / width - 1, array)


def chosen_statistics(datasets: Mapping[str, Any], key: str | None) -> tuple[str, ActionStatistics]:
    """Picks the statistics of one training dataset.

    Args:
        datasets: Statistics by dataset, as in ``dataset_statistics.json``.
        key: The dataset; with the suffix ``_no_noops`` (datasets without idle steps) if only that
            is there. None: the only one.

    Returns:
        The dataset's name and its statistics.

    Raises:
        ValueError: There is no such dataset, or several and none was named.
    """
    names = [key, f"{key}_no_noops"] if key is not None else list(datasets)
    found = [name for name in names if name in datasets]
    if not found or (key is None and len(found) > 1):
        raise ValueError(f"unnorm_key must be one of {sorted(datasets)}, got {key!r}")
    return found[0], ActionStatistics.from_dict(datasets[found[0]]["action"])


def libero_actions(actions: ArrayLike) -> NDArray[np.float32]:
    """Turns actions with the gripper of the training data into LIBERO's, as upstream does.

    There the last value is 1 for an open gripper and 0 for a closed one; LIBERO opens at -1 and
    closes at 1. So it becomes minus the sign of 2g - 1; the middle, 0.5, is 0 (stay).

    Args:
        actions: (..., A).

    Returns:
        (..., A), float32.
    """
    result = np.array(actions, dtype=np.float32)
    # A zero must not become -0.0: it would show in logs and in equality of bytes.
    result[..., -1] = 0.0 - np.sign(2 * np.asarray(actions, dtype=np.float64)[..., -1] - 1)
    return result


def dataset_actions(actions: ArrayLike) -> NDArray[np.float64]:
    """Turns LIBERO's actions into those of the training data: the way back.

    Args:
        actions: (..., A), the gripper last: it closes at 1 and opens at -1.

    Returns:
        (..., A), float64, the gripper 0 where it closes and 1 where it opens.
    """
    result = np.array(actions, dtype=np.float64)
    result[..., -1] = (1 - np.clip(result[..., -1], -1.0, 1.0)) / 2
    return result
