"""The anchors' share as it follows the agreement of predictions and measurements."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from wmrl_envs.wrappers.estimators.agreement import AgreementMonitor

__all__ = ["AdaptiveShare"]


class AdaptiveShare:
    """Raises the share of anchor groups while a monitor is alarmed, and lowers it afterwards.

    The share moves in ``steps`` equal steps between the anchor sampling's own ``fraction`` and
    ``highest``: one step up whenever the monitor is alarmed, one down whenever it is not, at most
    one in ``patience`` groups of evidence. What the monitor has seen decides alone: the same
    evidence gives the same shares, in a resumed run too.

    One and the same monitor belongs to this object and to the :class:`CorrectionWrapper` that feeds
    it.

    Args:
        monitor: Knows the agreement.
        highest: The highest share, in (0, 1].
        steps: Steps from the lowest to the highest share.
        patience: Groups of evidence between two steps.

    Attributes:
        level: Steps above the lowest share.
        history: (groups of evidence, level) of every step so far.

    Raises:
        TypeError: ``monitor`` is no :class:`AgreementMonitor`.
        ValueError: Another argument is out of its range.

    Example:
        >>> monitor = AgreementMonitor(min_groups=1)
        >>> adaptive = AdaptiveShare(monitor, highest=0.5, steps=2, patience=1)
        >>> adaptive.update(), adaptive.share(0.1)
        (None, 0.1)
        >>> import warnings
        >>> with warnings.catch_warnings(record=True):
        ...     monitor.update([(np.array([0.1, 0.9]), np.array([1.0, 0.0]))])
        >>> adaptive.update(), round(adaptive.share(0.1), 3), adaptive.history
        (None, 0.3, [(1, 1)])
    """

    def __init__(
        self, monitor: AgreementMonitor, highest: float = 0.5, steps: int = 4, patience: int = 4
    ) -> None:
        if not isinstance(monitor, AgreementMonitor):
            raise TypeError(f"monitor must be an AgreementMonitor, got {monitor!r}")
        if not 0 < highest <= 1:
            raise ValueError(f"highest must lie in (0, 1], got {highest!r}")
        for name, value in (("steps", steps), ("patience", patience)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        self.monitor, self.highest, self.steps = monitor, float(highest), steps
        self.patience = patience
        self.level = 0
        self.history: list[tuple[int, int]] = []

    def check(self, fraction: float) -> None:
        """Raises ValueError unless the share can rise from ``fraction``."""
        if not 0 < fraction <= self.highest:
            raise ValueError(
                f"with adaptive, fraction must lie in (0, highest={self.highest!r}], "
                f"got {fraction!r}: without anchors there is no evidence"
            )

    def update(self) -> None:
        """Moves by a step if it is time; called before groups are drawn."""
        last = self.history[-1][0] if self.history else -self.patience
        if self.monitor.groups - last < self.patience:
            return
        level = self.level + (1 if self.monitor.alarmed else -1)
        if 0 <= level <= self.steps:
            self.level = level
            self.history.append((self.monitor.groups, level))

    def share(self, fraction: float) -> float:
        """The share of anchors now, between ``fraction`` and ``highest``."""
        if self.level == 0:
            return fraction
        return fraction + (self.highest - fraction) * self.level / self.steps

    def state_dict(self) -> dict[str, Any]:
        """The history: ``groups`` and ``levels``, (n,) int64 each."""
        groups, levels = zip(*self.history, strict=True) if self.history else ((), ())
        return {"groups": np.array(groups, np.int64), "levels": np.array(levels, np.int64)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores the history and the level; the monitor has a state of its own."""
        levels = [int(level) for level in state["levels"]]
        groups = [int(group) for group in state["groups"]]
        self.history = list(zip(groups, levels, strict=True))
        self.level = levels[-1] if levels else 0
