"""Groups: which one an episode belongs to, and the anchor pairs of those that are not complete."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from wmrl_envs.wrappers.estimators.anchors import group_id
from wmrl_envs.wrappers.estimators.fitted import FittedCorrection
from wmrl_envs.wrappers.estimators.pairs import Pairs

__all__ = ["GroupCounter", "GroupLedger", "explicit_group"]


class GroupCounter:
    """Names the group of every episode of ``num_envs`` (sub-)environments.

    An explicit group is ``options["group"]`` or else the reset seed. An episode without either, as
    after an autoreset, belongs to the group :func:`group_id` (last explicit group, episodes since),
    so that single and vector environments agree. Before any explicit group, sub-environment i
    counts as if its seed had been i.

    Example:
        >>> counter = GroupCounter(1)
        >>> counter.begin(0, seed=7), counter.begin(0), counter.begin(0, group=3)
        (7, 4294967303, 3)
    """

    def __init__(self, num_envs: int) -> None:
        self._base = list(range(num_envs))
        self._repeat = [-1] * num_envs

    def begin(self, index: int, seed: int | None = None, group: int | None = None) -> int:
        """Starts an episode in one sub-environment and returns its group."""
        explicit = seed if group is None else group
        if explicit is None:
            self._repeat[index] += 1
        else:
            self._base[index], self._repeat[index] = int(explicit), 0
        return group_id(self._base[index], self._repeat[index])


def explicit_group(value: Any) -> int | None:
    """Checks one group of ``options["group"]``.

    Raises:
        TypeError: It is neither an integer nor None.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f'options["group"] must be an integer, got {value!r}')
    return int(value)


class GroupLedger:
    """Holds back the anchor pairs of each group until the group is complete.

    A group that two or more sub-environments run is complete when the last of them is done. The
    group of a lone sub-environment is complete when another group starts in its place, for its next
    episode may belong to the same group. While a group is running, the correction that its first
    episode met is kept for the others, so that one map corrects a whole group.

    Example:
        >>> ledger = GroupLedger(2)
        >>> ledger.start(0, 7), ledger.start(1, 7)
        (None, None)
        >>> ledger.finish(0, (0.5, 0.4)), ledger.finish(1, (0.9, 0.8))
        (None, None)
        >>> ledger.take_complete()
        [(array([0.5, 0.9]), array([0.4, 0.8]))]
    """

    def __init__(self, num_envs: int) -> None:
        self._group: list[int | None] = [None] * num_envs
        self._running = [False] * num_envs
        # How many sub-environments hold a group as their last, and how many still run it.
        self._holders: Counter[int] = Counter()
        self._runners: Counter[int] = Counter()
        self._pending: dict[int, list[tuple[float, float]]] = {}
        self._pins: dict[int, FittedCorrection] = {}

    def start(self, index: int, group: int | None) -> None:
        """An episode of this group starts in one sub-environment."""
        self._halt(index)
        _lose(self._holders, self._group[index])
        self._group[index], self._running[index] = group, group is not None
        if group is not None:
            self._holders[group] += 1
            self._runners[group] += 1

    def finish(self, index: int, pair: tuple[float, float] | None = None) -> None:
        """The episode there ends; ``pair`` is an anchor's (predicted, measured)."""
        group = self._group[index]
        self._halt(index)
        if pair is not None and group is not None:
            self._pending.setdefault(group, []).append(pair)

    def group(self, index: int) -> int | None:
        """The group of the sub-environment's last episode."""
        return self._group[index]

    def take_complete(self) -> list[Pairs]:
        """Removes and returns the pairs of complete groups, in the order of their first pair."""
        complete = [
            group
            for group in self._pending
            if group not in self._runners and self._holders[group] != 1
        ]
        return [_as_arrays(self._pending.pop(group)) for group in complete]

    def pinned(self, group: int | None, current: FittedCorrection) -> FittedCorrection:
        """The correction of this group: ``current`` for the first episode that asks."""
        if group is None:
            return current
        return self._pins.setdefault(group, current)

    def unpin_finished(self) -> None:
        """Forgets the corrections of groups that no sub-environment runs."""
        self._pins = {group: fit for group, fit in self._pins.items() if group in self._runners}

    def _halt(self, index: int) -> None:
        if self._running[index]:
            self._running[index] = False
            _lose(self._runners, self._group[index])

    def state_dict(self) -> dict[str, np.ndarray]:
        """The pairs held back: ``group`` (n,) int64, ``predicted`` and ``measured`` (n,)."""
        rows = [(group, *pair) for group, pairs in self._pending.items() for pair in pairs]
        group, predicted, measured = zip(*rows, strict=True) if rows else ((), (), ())
        return {
            "group": np.array(group, np.int64),
            "predicted": np.array(predicted, np.float64),
            "measured": np.array(measured, np.float64),
        }

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Restores them; the episodes of before are over."""
        self._group, self._running = [None] * len(self._group), [False] * len(self._group)
        self._holders, self._runners = Counter(), Counter()
        self._pending, self._pins = {}, {}
        rows = zip(state["group"], state["predicted"], state["measured"], strict=True)
        for group, predicted, measured in rows:
            self._pending.setdefault(int(group), []).append((float(predicted), float(measured)))


def _lose(counts: Counter[int], group: int | None) -> None:
    """Counts one less of a group, and forgets it at none."""
    if group is None:
        return
    counts[group] -= 1
    if not counts[group]:
        del counts[group]


def _as_arrays(pairs: list[tuple[float, float]]) -> Pairs:
    predicted, measured = zip(*pairs, strict=True)
    return np.array(predicted), np.array(measured)
