"""What a correction learns from complete anchor groups: the maps, and whether to trust them."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from wmrl_envs.wrappers.estimators.adaptive import AdaptiveShare
from wmrl_envs.wrappers.estimators.agreement import AgreementMonitor
from wmrl_envs.wrappers.estimators.correction import Correction, Method
from wmrl_envs.wrappers.groups import GroupLedger

__all__ = ["AnchorLearning", "Sampler", "make_estimator"]


class Sampler(Protocol):
    """What a correction reads of the anchor sampling beneath it."""

    @property
    def fraction(self) -> float:
        """The share of groups that are anchors, for groups that begin now."""
        ...

    @property
    def adaptive(self) -> AdaptiveShare | None:
        """What moves the share, if anything does."""
        ...


def make_estimator(
    estimator: Correction | None,
    method: Method,
    debias: bool,
    denoise: bool,
    kwargs: Mapping[str, Any] | None,
    sampler: Sampler | None,
) -> Correction:
    """The given estimator, or a new one with the anchor sampling's fraction, if there is any."""
    if estimator is None:
        defaults = {} if sampler is None else {"fraction": sampler.fraction}
        return Correction(method, debias=debias, denoise=denoise, **{**defaults, **(kwargs or {})})
    if not isinstance(estimator, Correction):
        raise TypeError(f"estimator must be a Correction or None, got {estimator!r}")
    return estimator


class AnchorLearning:
    """Feeds complete anchor groups to an estimator and to a monitor.

    Args:
        num_envs: The number of sub-environments.
        estimator: The correction.
        monitor: Watches the agreement; None makes one.
        followed: The anchor sampling whose share the estimator follows as it changes; None leaves
            the estimator's own.

    Raises:
        TypeError: ``monitor`` is something else.
    """

    def __init__(
        self,
        num_envs: int,
        estimator: Correction,
        monitor: AgreementMonitor | None,
        followed: Sampler | None,
    ) -> None:
        if monitor is not None and not isinstance(monitor, AgreementMonitor):
            raise TypeError(f"monitor must be an AgreementMonitor or None, got {monitor!r}")
        self.estimator = estimator
        self.monitor = AgreementMonitor() if monitor is None else monitor
        self.ledger = GroupLedger(num_envs)
        adapts = followed is not None and followed.adaptive is not None
        self._followed = followed if adapts else None

    def learn(self) -> None:
        """Takes in the groups that are complete."""
        complete = self.ledger.take_complete()
        if complete:
            self.estimator.update(complete)
            self.monitor.update(complete)

    def begin(self, groups: Mapping[int, int | None]) -> None:
        """Episodes start, by sub-environment; learns from the groups that they replace."""
        if self._followed is not None:
            self.estimator.fraction = self._followed.fraction
        for index, group in groups.items():
            self.ledger.start(index, group)
        self.learn()

    def diagnostics(self) -> dict[str, float]:
        """The estimator's and the monitor's, and the ``fraction`` of anchors aimed at now."""
        return {
            **self.estimator.diagnostics(),
            **self.monitor.diagnostics(),
            "fraction": self.estimator.fraction,
        }

    def state_dict(self) -> dict[str, Any]:
        """The flat state of all three."""
        pending = {f"pending/{key}": value for key, value in self.ledger.state_dict().items()}
        watched = {f"agreement/{key}": value for key, value in self.monitor.state_dict().items()}
        return self.estimator.state_dict() | pending | watched

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores it.

        Raises:
            ValueError: A key is missing.
        """
        own = (key for key in self.state_dict() if key.startswith(("pending/", "agreement/")))
        absent = [key for key in own if key not in state]
        if absent:
            raise ValueError(f"state lacks {absent}, got the keys {sorted(state)}")
        self.estimator.load_state_dict(state)
        self.ledger.load_state_dict({k: np.asarray(v) for k, v in _below("pending", state).items()})
        self.monitor.load_state_dict(_below("agreement", state))


def _below(prefix: str, state: Mapping[str, Any]) -> dict[str, Any]:
    start = f"{prefix}/"
    return {key[len(start) :]: value for key, value in state.items() if key.startswith(start)}
