"""Which groups are anchors when their share may change: one share for all of a group."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wmrl_envs.wrappers.estimators.adaptive import AdaptiveShare
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw, group_id

__all__ = ["GroupDraw"]

_AHEAD = 16
"""Episodes of one sub-environment that are drawn at once: numpy's calls cost more than a draw."""


class GroupDraw:
    """Draws the anchors among the groups of ``num_envs`` (sub-)environments.

    The draw is :class:`AnchorDraw`'s, a pure function of (seed, group, share), in blocks of one
    length for all shares. A group keeps the share that it began with until it is complete, in the
    sense of :class:`GroupLedger`: while another sub-environment is at it, and for as long as a lone
    sub-environment stays with it.

    Args:
        num_envs: The number of sub-environments.
        draw: The draw at the lowest share.
        adaptive: Moves the share; None leaves it as it is.

    Raises:
        TypeError: ``adaptive`` is no :class:`AdaptiveShare`.
        ValueError: The share cannot rise from the draw's.
    """

    def __init__(self, num_envs: int, draw: AnchorDraw, adaptive: AdaptiveShare | None) -> None:
        if adaptive is not None:
            if not isinstance(adaptive, AdaptiveShare):
                raise TypeError(f"adaptive must be an AdaptiveShare or None, got {adaptive!r}")
            adaptive.check(draw.fraction)
        self._draw, self.adaptive = draw, adaptive
        self._group = np.zeros(num_envs, dtype=np.int64)
        self._share = np.full(num_envs, np.nan)
        self._ahead: dict[int, bool] = {}

    @property
    def share(self) -> float:
        """The share of groups that are anchors, for groups that begin now."""
        fraction = self._draw.fraction
        return fraction if self.adaptive is None else self.adaptive.share(fraction)

    def begin(self, indices: Sequence[int], groups: Sequence[int] | np.ndarray) -> np.ndarray:
        """Episodes of these groups begin in these sub-environments.

        Returns:
            (n,) bool: which are anchors.
        """
        if self.adaptive is None:
            return self._foreseen(groups)
        self.adaptive.update()
        places, held = list(indices), self._held(set(indices))
        shares = np.array([held.get(int(group), self.share) for group in groups])
        self._group[places], self._share[places] = groups, shares
        return self._drawn(self._group[places], shares)

    def _foreseen(self, groups: Sequence[int] | np.ndarray) -> np.ndarray:
        """The draw, made for the next unseeded episodes of these sub-environments as well."""
        wanted = np.asarray(groups, dtype=np.int64)
        names = wanted.tolist()
        if any(name not in self._ahead for name in names):
            later = [group_id(name, repeat) for name in names for repeat in range(_AHEAD)]
            drawn = self._draw(np.array(later, dtype=np.int64)).tolist()
            if len(self._ahead) > _AHEAD * max(len(self._group), len(names)):
                self._ahead.clear()
            self._ahead.update(zip(later, drawn, strict=True))
        return np.array([self._ahead[name] for name in names], dtype=bool)

    def _held(self, starting: set[int]) -> dict[int, float]:
        """The shares of the groups that are not complete although these start anew."""
        holders = Counter(self._group.tolist())
        return {
            group: share
            for i, (group, share) in enumerate(zip(self._group.tolist(), self._share, strict=True))
            if not np.isnan(share) and (i not in starting or holders[group] == 1)
        }

    def _drawn(self, groups: np.ndarray, shares: np.ndarray) -> np.ndarray:
        anchors = np.zeros(len(groups), dtype=bool)
        for share in np.unique(shares):
            rows = shares == share
            draw = AnchorDraw(float(share), self._draw.seed, self._draw.block)
            anchors[rows] = draw(groups[rows])
        return anchors

    def state_dict(self) -> dict[str, Any]:
        """The shares' history and which group has which share; nothing where they are fixed."""
        if self.adaptive is None:
            return {}
        history = {f"share/{key}": value for key, value in self.adaptive.state_dict().items()}
        return {**history, "held_groups": self._group.copy(), "held_shares": self._share.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` returned.

        Raises:
            ValueError: A key is missing, or there is one although the share is fixed.
        """
        if state.keys() != self.state_dict().keys():
            raise ValueError(
                f"state must hold {sorted(self.state_dict())} with adaptive={self.adaptive!r}, "
                f"got the keys {sorted(state)}"
            )
        if self.adaptive is None:
            return
        history = {key: state[f"share/{key}"] for key in self.adaptive.state_dict()}
        self.adaptive.load_state_dict(history)
        self._group[:], self._share[:] = state["held_groups"], state["held_shares"]
