"""Anchor sampling: which groups pay for real execution."""

from collections.abc import Mapping
from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs

from wmrl_envs import info as keys
from wmrl_envs.resets import may_execute
from wmrl_envs.wrappers.estimators.adaptive import AdaptiveShare
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.groups import GroupCounter, explicit_group
from wmrl_envs.wrappers.outcomes import sampled_outcome
from wmrl_envs.wrappers.shares import GroupDraw
from wmrl_envs.wrappers.stack import check_order

__all__ = ["AnchorSamplingWrapper"]


class AnchorSamplingWrapper(gym.Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Measures the reward of a fixed share of groups, and leaves the others to a world model.

    A group is the set of episodes with one reset seed; ``options["group"]`` (an integer) overrides
    it. Whether a group is an anchor is a pure function of this wrapper's seed and the group, with
    an exact budget for consecutive groups, see :class:`AnchorDraw`. An episode that is reset
    without a seed belongs to a group derived from the last explicit one.

    The reset option ``execute`` is handed down as a bool: anchor and allowed by the caller's own
    ``execute`` (a bool, or a collection of reset seeds). Environments whose reward is free ignore
    it; their reward counts as unmeasured outside anchor groups.

    ``reset`` adds ``group`` and ``anchor`` to the info. So does the last step of an episode, along
    with, in anchor groups, ``measured_reward`` (the environment's own, or else the episode's
    return), ``graded`` and ``reward_source``. Other groups get reward 0.0 at every step,
    ``graded=False`` and no ``measured_reward``.

    A vector version exists: :class:`wmrl_envs.wrappers.vector.AnchorSamplingWrapper`.

    Args:
        env: The environment; this wrapper belongs nearest to it.
        fraction: The share of groups that are anchors, in [0, 1].
        seed: Chooses among the draws with this budget.
        block: Groups in a block of exact budget; by default the shortest that holds whole anchors.
        adaptive: Raises the share while the world model's agreement with the measurement is poor,
            from ``fraction`` up to its own bound; its monitor is the :class:`CorrectionWrapper`'s
            too. None leaves the share as it is.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: ``fraction`` lies outside [0, 1], or (0, highest] with ``adaptive``; ``block``
            is below 1; or the wrappers are in the wrong order.

    Example:
        >>> env = AnchorSamplingWrapper(gym.make("CartPole-v1"), fraction=0.5, seed=1)
        >>> [env.reset(seed=seed)[1]["anchor"] for seed in range(4)]
        [True, False, True, False]
    """

    def __init__(
        self,
        env: gym.Env[ObsType, ActType],
        fraction: float = 0.1,
        seed: int = 0,
        block: int | None = None,
        adaptive: AdaptiveShare | None = None,
    ) -> None:
        check_order(env, "AnchorSamplingWrapper")
        # Others share the adaptive object, which a copy would not follow.
        RecordConstructorArgs.__init__(
            self,
            fraction=fraction,
            seed=seed,
            block=block,
            adaptive=adaptive,
            _disable_deepcopy=True,
        )
        gym.Wrapper.__init__(self, env)
        self._draw = GroupDraw(1, AnchorDraw(fraction, seed, block), adaptive)
        self._counter = GroupCounter(1)
        self._group, self._anchor, self._return = 0, False, 0.0

    @property
    def fraction(self) -> float:
        """The share of groups that are anchors, for groups that begin now."""
        return self._draw.share

    @property
    def adaptive(self) -> AdaptiveShare | None:
        """What moves the share, if anything does."""
        return self._draw.adaptive

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts an episode; adds ``group`` and ``anchor`` to the info.

        Args:
            seed: The reset seed, which names the group.
            options: ``group`` (int) overrides the group; ``execute`` (bool or collection of reset
                seeds) limits what may be measured; all else is handed down.
        """
        allowed = may_execute(options, seed)
        override = explicit_group((options or {}).get("group"))
        self._group = self._counter.begin(0, seed, override)
        self._anchor = bool(self._draw.begin([0], [self._group])[0]) and allowed
        self._return = 0.0
        handed_down = {**(options or {}), "execute": self._anchor}
        obs, info = self.env.reset(seed=seed, options=handed_down)
        return obs, {**info, keys.GROUP: self._group, keys.ANCHOR: self._anchor}

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment; at the episode's end says what was measured."""
        obs, env_reward, terminated, truncated, info = self.env.step(action)
        reward = float(env_reward) if self._anchor else 0.0
        self._return += reward
        if terminated or truncated:
            outcome = sampled_outcome(info, self._group, self._anchor, self._return)
            reward, info = outcome.applied(reward, info)
        return obs, reward, terminated, truncated, info

    def state_dict(self) -> dict[str, Any]:
        """The history of the share, as arrays; nothing without ``adaptive``."""
        return self._draw.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` returned, between episodes; reset comes next.

        Raises:
            ValueError: It is the state of other arguments.
        """
        self._draw.load_state_dict(state)
