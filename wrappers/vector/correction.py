"""The correction for vector environments: anchors are learned from before others are corrected."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper

from wmrl_envs import info as keys
from wmrl_envs.wrappers.correction import anchor_pair, correct_rows
from wmrl_envs.wrappers.estimators.agreement import AgreementMonitor
from wmrl_envs.wrappers.estimators.correction import Correction, Method
from wmrl_envs.wrappers.learning import AnchorLearning, make_estimator
from wmrl_envs.wrappers.stack import check_order
from wmrl_envs.wrappers.vector.rows import (
    EpisodeClock,
    apply_outcomes,
    places,
    read_rows,
    reset_mask,
)
from wmrl_envs.wrappers.vector.stack import find_sampler

__all__ = ["CorrectionWrapper"]


class CorrectionWrapper(
    VectorWrapper[ObsType, ActType, ObsType, ActType, np.ndarray], RecordConstructorArgs
):
    """Corrects world-model rewards by what anchors measured: the vector version.

    It differs from a vector environment of single :class:`wmrl_envs.wrappers.CorrectionWrapper` in
    having one estimator for all, and in learning at once from an anchor group of two or more
    sub-environments when its last member is done: the group's pairs enter the map before the other
    episodes that end in this step are corrected. All episodes of a group that run side by side are
    corrected by one map.

    Args:
        env: The vector environment, usually a :class:`WorldModelRewardWrapper` around an
            :class:`AnchorSamplingWrapper`.
        method: "rectified" (default), "paper" or "reference", see :class:`Correction`.
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
        >>> import gymnasium as gym
        >>> from wmrl_envs.wrappers.vector import AnchorSamplingWrapper, WorldModelRewardWrapper
        >>> env = gym.make_vec("CartPole-v1", 4, "sync", max_episode_steps=2)
        >>> env = AnchorSamplingWrapper(env, fraction=0.5, seed=1)
        >>> env = WorldModelRewardWrapper(env, lambda episodes: [3.0 for _ in episodes])
        >>> env = CorrectionWrapper(env, method="paper", estimator_kwargs={"prior_pairs": 0})
        >>> _ = env.reset(seed=[0, 0, 1, 1])
        >>> _, _ = env.step(np.zeros(4, int)), env.step(np.zeros(4, int))
        >>> env.estimator.correct(np.array([3.0]), np.array([np.nan]), np.array([False])).reward
        array([2.])
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, np.ndarray],
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
        VectorWrapper.__init__(self, env)
        sampler = find_sampler(env)
        self.estimator = make_estimator(
            estimator, method, debias, denoise, estimator_kwargs, sampler
        )
        own = estimator is not None or "fraction" in (estimator_kwargs or {})
        followed = None if own else sampler
        self._learning = AnchorLearning(self.num_envs, self.estimator, monitor, followed)
        self._clock = EpisodeClock(env)

    @property
    def monitor(self) -> AgreementMonitor:
        """Watches the rank agreement within anchor groups."""
        return self._learning.monitor

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts episodes; learns from the groups that are left behind."""
        mask = reset_mask(options, self.num_envs)
        obs, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._clock.reset(mask)
        self._begin(places(mask), infos)
        return obs, infos

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the environments; learns from complete anchor groups, then corrects."""
        obs, env_rewards, terminations, truncations, infos = self.env.step(actions)
        phase = self._clock.step(terminations, truncations)
        infos, last = self._clock.opened(infos)
        rewards = np.array(env_rewards, dtype=np.float64)
        rows = read_rows(last, places(phase.ended))
        for i, row in rows.items():
            self._learning.ledger.finish(i, anchor_pair(row))
        self._learning.learn()
        predicted = {i: row for i, row in rows.items() if keys.PREDICTED_REWARD in row}
        outcomes = correct_rows(self.estimator, self._learning.ledger, predicted)
        apply_outcomes(last, rewards, outcomes)
        self._begin(places(phase.started), infos)
        return obs, rewards, terminations, truncations, infos

    def _begin(self, indices: list[int], infos: dict[str, Any]) -> None:
        self._learning.begin(
            {i: row.get(keys.GROUP) for i, row in read_rows(infos, indices, (keys.GROUP,)).items()}
        )

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
