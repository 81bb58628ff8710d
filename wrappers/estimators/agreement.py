"""Reward hacking: does the world model still rank a group's episodes as the measurement does?

A policy that has learned to please the world model alone raises its predictions and not its
measured rewards. Group-relative learning uses predictions only to rank the members of a group, so
the rank agreement within anchor groups is what tells it first.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from wmrl_envs.wrappers.estimators.pairs import Pairs, usable_pairs
from wmrl_envs.wrappers.estimators.ranks import kendall, spearman

__all__ = ["AgreementMonitor", "RewardHackingWarning", "Statistic"]

Statistic = Literal["spearman", "kendall"]

_STATISTICS = {"spearman": spearman, "kendall": kendall}


class RewardHackingWarning(UserWarning):
    """The world model no longer ranks episodes as the measurement does."""


class AgreementMonitor:
    """An exponentially weighted mean of the rank agreement within anchor groups.

    A group gives evidence if it has two members with both rewards, and neither all predictions nor
    all measurements are equal: there is nothing to rank otherwise. The alarm goes on, with one
    :class:`RewardHackingWarning`, when the agreement falls below ``threshold``, and off when it
    reaches ``recovery``.

    With groups of eight, one group's Spearman correlation of unrelated rewards has a standard
    deviation of .38, and the mean with the default half-life one of .08.

    Args:
        threshold: The agreement below which the alarm goes on.
        recovery: The agreement from which it goes off; by default ``threshold`` + 0.1.
        half_life: Groups with evidence after which a group's weight is halved.
        min_groups: Groups with evidence before which nothing is said.
        statistic: "spearman" (ties averaged) or "kendall" (tau-b).

    Attributes:
        groups: Groups with evidence so far.
        alarmed: Whether the alarm is on.

    Raises:
        ValueError: An argument is out of its range.

    Example:
        >>> import numpy as np
        >>> monitor = AgreementMonitor(min_groups=2)
        >>> predicted = np.array([0.1, 0.5, 0.9])
        >>> monitor.update([(predicted, predicted**2), (predicted, np.array([0.0, 1.0, 0.5]))])
        >>> monitor.groups, round(monitor.agreement, 2), monitor.alarmed
        (2, 0.74, False)
    """

    def __init__(
        self,
        threshold: float = 0.2,
        recovery: float | None = None,
        half_life: float = 8.0,
        min_groups: int = 8,
        statistic: Statistic = "spearman",
    ) -> None:
        recovery = min(threshold + 0.1, 1.0) if recovery is None else recovery
        if not -1 <= threshold <= 1:
            raise ValueError(f"threshold must lie in [-1, 1], got {threshold!r}")
        if not threshold <= recovery <= 1:
            raise ValueError(
                f"recovery must lie between threshold={threshold!r} and 1, got {recovery!r}"
            )
        if not half_life > 0:
            raise ValueError(f"half_life must be positive, got {half_life!r}")
        if min_groups < 1:
            raise ValueError(f"min_groups must be at least 1, got {min_groups!r}")
        if statistic not in get_args(Statistic):
            raise ValueError(f"statistic must be one of {get_args(Statistic)}, got {statistic!r}")
        self.threshold, self.recovery, self.half_life = threshold, recovery, half_life
        self.min_groups, self.statistic = min_groups, statistic
        self.groups, self.alarmed = 0, False
        self._sum = self._weight = 0.0

    @property
    def agreement(self) -> float | None:
        """The agreement in [-1, 1]; None before ``min_groups`` groups have given evidence."""
        return self._sum / self._weight if self.groups >= self.min_groups else None

    def update(self, groups: Iterable[Pairs]) -> None:
        """Takes anchor groups in order of time; warns if the alarm goes on.

        Args:
            groups: (predicted, measured) of each group, both (n,) with NaN where there is none;
                such rows are left out.

        Raises:
            ValueError: The two sides of a group differ in shape.
        """
        for pairs in groups:
            found = _STATISTICS[self.statistic](*usable_pairs(pairs))
            if found is not None:
                self._add(found)

    def _add(self, found: float) -> None:
        decay = 0.5 ** (1 / self.half_life)
        self._sum = decay * self._sum + found
        self._weight = decay * self._weight + 1.0
        self.groups += 1
        agreement = self.agreement
        if agreement is None:
            return
        if self.alarmed:
            self.alarmed = agreement < self.recovery
        elif agreement < self.threshold:
            self.alarmed = True
            self._warn(agreement)

    def _warn(self, agreement: float) -> None:
        warnings.warn(
            f"within anchor groups the {self.statistic} correlation of predicted and measured "
            f"rewards has fallen to {agreement:.2f}, below {self.threshold:g}, after {self.groups} "
            "groups: the policy may be exploiting the world model; measure more groups, refit the "
            "world model, or stop",
            RewardHackingWarning,
            stacklevel=4,
        )

    def diagnostics(self) -> dict[str, float]:
        """What is worth logging: ``agreement`` once it is known, its groups, and the alarm."""
        agreement = self.agreement
        known = {} if agreement is None else {"agreement": agreement}
        return {
            **known,
            "agreement_groups": float(self.groups),
            "agreement_alarm": float(self.alarmed),
        }

    def state_dict(self) -> dict[str, Any]:
        """Everything learned, as numbers."""
        return {
            "groups": self.groups,
            "alarmed": self.alarmed,
            "sum": self._sum,
            "weight": self._weight,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` returned, bit for bit, without a further warning.

        Raises:
            ValueError: A key is missing.
        """
        missing = self.state_dict().keys() - state.keys()
        if missing:
            raise ValueError(f"state lacks {sorted(missing)}, got the keys {sorted(state)}")
        self.groups, self.alarmed = int(state["groups"]), bool(state["alarmed"])
        self._sum, self._weight = float(state["sum"]), float(state["weight"])
