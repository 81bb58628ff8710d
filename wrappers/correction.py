"""The correction wrapper: debiased predictions, weighted anchors."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs

from wmrl_envs import info as keys
from wmrl_envs.wrappers.anchor_sampling import AnchorSamplingWrapper
from wmrl_envs.wrappers.estimators.agreement import AgreementMonitor
from wmrl_envs.wrappers.estimators.correction import Correction, Method
from wmrl_envs.wrappers.estimators.fitted import FittedCorrection
from wmrl_envs.wrappers.groups import GroupLedger
from wmrl_envs.wrappers.learning import AnchorLearning, make_estimator
from wmrl_envs.wrappers.outcomes import Outcome, corrected_outcome
from wmrl_envs.wrappers.stack import check_order, find_wrapper

__all__ = ["CorrectionWrapper"]


class CorrectionWrapper(gym.Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Corrects world-model rewards by what anchors measured.

    At the end of an episode with a prediction, ``info`` gains ``corrected_reward`` (the prediction
    through the debiasing map) and ``reward_weight`` (the weight of the episode's advantage), and
    the reward becomes what ``method`` says, see :class:`Correction`. Episodes without a prediction
    and ungraded ones stay as they are.

    The pairs of an anchor group are learned from when another group starts, so that the group's
    residuals are measured with a map that has not seen it.

    A vector version exists: :class:`wmrl_envs.wrappers.vector.CorrectionWrapper`. There, anchors
    that finish in a step are learned from before the others of that step are corrected.

    Args:
        env: The environment, usually a :class:`WorldModelRewardWrapper` around an
            :class:`AnchorSamplingWrapper`.
        method: "rectified" (default), "paper" or "reference".
        debias: False leaves predictions as they are.
        denoise: False weighs all episodes alike.
        estimator: A :class:`Correction` to use, and perhaps to share, in place of a new one; the
            other arguments are ignored then.
        estimator_kwargs: Further arguments of :class:`Correction`, such as half-lives and prior
            weights for a short run. ``fraction`` is by default that of the anchor sampling,
            and follows it where it is adaptive.
        monitor: Watches the rank agreement of predictions and measurements within anchor groups and
            warns of reward hacking; None makes one with default settings. It is shared with an
            adaptive anchor sampling.

    Raises:
        TypeError: ``estimator`` is no :class:`Correction`, or ``monitor`` no
            :class:`AgreementMonitor`.
        ValueError: An argument of :class:`Correction` is out of its range, or the wrappers are in
            the wrong order.

    Example:
        >>> from wmrl_envs.wrappers import AnchorSamplingWrapper, WorldModelRewardWrapper
        >>> env = gym.make("CartPole-v1", max_episode_steps=10)
        >>> env = AnchorSamplingWrapper(env, fraction=0.5)
        >>> env = WorldModelRewardWrapper(env, lambda es: [2.0 * len(e.actions) for e in es])
        >>> env = CorrectionWrapper(env, method="paper")
        >>> _ = env.action_space.seed(0)
        >>> for seed in range(200):
        ...     _, done = env.reset(seed=seed), False
        ...     while not done:
        ...         _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        ...         done = terminated or truncated
        >>> abs(info["corrected_reward"] - info["predicted_reward"] / 2) < 0.5
        True
    """

    def __init__(
        self,
        env: gym.Env[ObsType, ActType],
        method: Method = "rectified",
        debias: bool = True,
        denoise: bool = True,
        estimator: Correction | None = None,
        estimator_kwargs: dict[str, Any] | None = None,
        monitor: AgreementMonitor | None = None,
    ) -> None:
        check_order(env, "CorrectionWrapper")
        RecordConstructorArgs.__init__(
            self,
            method=method,
            debias=debias,
            denoise=denoise,
            estimator=estimator,
            estimator_kwargs=estimator_kwargs,
            monitor=monitor,
            _disable_deepcopy=True,
        )
        gym.Wrapper.__init__(self, env)
        sampler = find_wrapper(env, AnchorSamplingWrapper)
        self.estimator = make_estimator(
            estimator, method, debias, denoise, estimator_kwargs, sampler
        )
        own = estimator is not None or "fraction" in (estimator_kwargs or {})
        self._learning = AnchorLearning(1, self.estimator, monitor, None if own else sampler)

    @property
    def monitor(self) -> AgreementMonitor:
        """Watches the rank agreement within anchor groups."""
        return self._learning.monitor

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts an episode; learns from the last group if this is another one."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._learning.begin({0: info.get(keys.GROUP)})
        return obs, info

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment; at the episode's end corrects its reward."""
        obs, env_reward, terminated, truncated, info = self.env.step(action)
        reward = float(env_reward)
        if terminated or truncated:
            self._learning.ledger.finish(0, anchor_pair(info))
            if keys.PREDICTED_REWARD in info:
                reward, info = self._correct(info).applied(reward, info)
        return obs, reward, terminated, truncated, info

    def _correct(self, info: Mapping[str, Any]) -> Outcome:
        return correct_rows(self.estimator, self._learning.ledger, {0: info})[0]

    def diagnostics(self) -> dict[str, float]:
        """What is worth logging at every step.

        Returns:
            What :meth:`Correction.diagnostics` and :meth:`AgreementMonitor.diagnostics` say, and
            ``fraction``, the share of anchors aimed at now.
        """
        return self._learning.diagnostics()

    def state_dict(self) -> dict[str, Any]:
        """Everything learned: a flat dict of arrays and numbers, fit for ``numpy.savez``."""
        return self._learning.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` returned, between episodes; reset comes next."""
        self._learning.load_state_dict(state)


def anchor_pair(info: Mapping[str, Any]) -> tuple[float, float] | None:
    """An ended episode's (predicted, measured), or None unless it is an anchor with both."""
    predicted, measured = info.get(keys.PREDICTED_REWARD), info.get(keys.MEASURED_REWARD)
    if predicted is None or measured is None or not info.get(keys.ANCHOR, False):
        return None
    return float(predicted), float(measured)


def correct_rows(
    estimator: Correction, ledger: GroupLedger, rows: Mapping[int, Mapping[str, Any]]
) -> dict[int, Outcome]:
    """Corrects ended episodes that have a prediction.

    Args:
        estimator: The correction.
        ledger: Knows the groups.
        rows: The last step's info of each ended episode, by sub-environment.

    Returns:
        What becomes of each, by sub-environment.
    """
    batches: dict[int, tuple[FittedCorrection, list[int]]] = {}
    for index in rows:
        fitted = ledger.pinned(ledger.group(index), estimator.current)
        batches.setdefault(id(fitted), (fitted, []))[1].append(index)
    outcomes = {}
    for fitted, indices in batches.values():
        result = estimator.correct(*_columns([rows[i] for i in indices]), using=fitted)
        for index, *values in zip(indices, *(column.tolist() for column in result), strict=True):
            outcomes[index] = corrected_outcome(rows[index], *values)
    ledger.unpin_finished()
    return outcomes


def _columns(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    predicted = np.array([row[keys.PREDICTED_REWARD] for row in rows], np.float64)
    measured = np.array([row.get(keys.MEASURED_REWARD, math.nan) for row in rows], np.float64)
    return predicted, measured, np.array([row.get(keys.ANCHOR, False) for row in rows], bool)
