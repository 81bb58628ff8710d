"""Anchor sampling for vector environments."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper

from wmrl_envs import info as keys
from wmrl_envs.resets import may_execute, seed_list
from wmrl_envs.wrappers.estimators.adaptive import AdaptiveShare
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.groups import GroupCounter, explicit_group
from wmrl_envs.wrappers.outcomes import sampled_outcome
from wmrl_envs.wrappers.shares import GroupDraw
from wmrl_envs.wrappers.stack import check_order
from wmrl_envs.wrappers.vector.rows import (
    EpisodeClock,
    apply_outcomes,
    places,
    read_rows,
    reset_mask,
    write_rows,
)

__all__ = ["AnchorSamplingWrapper"]


class AnchorSamplingWrapper(
    VectorWrapper[ObsType, ActType, ObsType, ActType, np.ndarray], RecordConstructorArgs
):
    """Measures the reward of a fixed share of groups: the vector version.

    It equals a vector environment of single :class:`wmrl_envs.wrappers.AnchorSamplingWrapper`, with
    two differences at ``reset``. ``options["group"]`` may be a sequence of N groups. And all
    sub-environments share one ``options``, so ``execute`` is handed down as the set of the anchors'
    reset seeds; without seeds, as whether there is an anchor at all.

    An autoreset carries no options, so an environment whose execution is expensive should be used
    with autoreset disabled (its own mode, or :class:`FreezeWrapper`).

    Args:
        env: The vector environment; this wrapper belongs nearest to it.
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
        >>> import gymnasium as gym
        >>> env = gym.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
        >>> env = AnchorSamplingWrapper(env, fraction=0.5, seed=1)
        >>> env.reset(seed=[0, 0, 1, 1])[1]["anchor"]
        array([ True,  True, False, False])
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, np.ndarray],
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
        VectorWrapper.__init__(self, env)
        self._draw = GroupDraw(self.num_envs, AnchorDraw(fraction, seed, block), adaptive)
        self._counter = GroupCounter(self.num_envs)
        self._clock = EpisodeClock(env)
        self._group = np.zeros(self.num_envs, dtype=np.int64)
        self._anchor = np.zeros(self.num_envs, dtype=bool)
        self._return = np.zeros(self.num_envs)

    @property
    def fraction(self) -> float:
        """The share of groups that are anchors, for groups that begin now."""
        return self._draw.share

    @property
    def adaptive(self) -> AdaptiveShare | None:
        """What moves the share, if anything does."""
        return self._draw.adaptive

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts episodes; adds ``group`` and ``anchor`` to the infos.

        Args:
            seed: The reset seeds, which name the groups; an int counts up from the first.
            options: ``group`` (int or N of them) overrides groups; ``execute`` (bool or collection
                of reset seeds) limits what may be measured; all else is handed down.
        """
        seeds = seed_list(seed, self.num_envs)
        mask = reset_mask(options, self.num_envs)
        groups = self._explicit_groups(options)
        self._clock.reset(mask)
        starting = places(mask)
        for i in starting:
            self._group[i] = self._counter.begin(i, seeds[i], groups[i])
        self._begin(starting, [may_execute(options, seeds[i]) for i in starting])
        handed_down = {**(options or {}), "execute": self._execute(seeds, mask)}
        obs, infos = self.env.reset(seed=seed, options=handed_down)  # type: ignore[arg-type]
        return obs, self._with_groups(dict(infos), starting)

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the environments; where an episode ends, says what was measured."""
        obs, env_rewards, terminations, truncations, infos = self.env.step(actions)
        phase = self._clock.step(terminations, truncations)
        infos, last = self._clock.opened(infos)
        rewards = np.where(self._anchor & phase.stepped, env_rewards, 0.0)
        self._return += rewards
        self._finish(places(phase.ended), rewards, last)
        starting = places(phase.started)
        for i in starting:
            self._group[i] = self._counter.begin(i)
        self._begin(starting, [True] * len(starting))
        return obs, rewards, terminations, truncations, self._with_groups(infos, starting)

    def _explicit_groups(self, options: dict[str, Any] | None) -> list[int | None]:
        groups = (options or {}).get("group")
        if not isinstance(groups, (Sequence, np.ndarray)):
            return [explicit_group(groups)] * self.num_envs
        if isinstance(groups, (str, bytes)) or len(groups) != self.num_envs:
            raise ValueError(
                f'options["group"] must be an integer or {self.num_envs} of them, got {groups!r}'
            )
        return [explicit_group(group) for group in groups]

    def _begin(self, indices: list[int], allowed: Sequence[bool]) -> None:
        if not indices:
            return
        drawn = self._draw.begin(indices, self._group[indices])
        self._anchor[indices] = drawn & np.array(allowed, dtype=bool)
        self._return[indices] = 0.0

    def _execute(self, seeds: Sequence[int | None], mask: np.ndarray) -> bool | frozenset[int]:
        anchors = [seeds[i] for i in places(mask & self._anchor)]
        if None in anchors:
            return True
        return frozenset(seed for seed in anchors if seed is not None)

    def _finish(self, indices: list[int], rewards: np.ndarray, infos: dict[str, Any]) -> None:
        outcomes = {
            i: sampled_outcome(
                row, int(self._group[i]), bool(self._anchor[i]), float(self._return[i])
            )
            for i, row in read_rows(infos, indices).items()
        }
        apply_outcomes(infos, rewards, outcomes)

    def _with_groups(self, infos: dict[str, Any], indices: list[int]) -> dict[str, Any]:
        rows = {
            i: {keys.GROUP: int(self._group[i]), keys.ANCHOR: bool(self._anchor[i])}
            for i in indices
        }
        write_rows(infos, rows, len(self._group))
        return infos

    def state_dict(self) -> dict[str, Any]:
        """The history of the share, as arrays; nothing without ``adaptive``."""
        return self._draw.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` returned, between episodes; reset comes next.

        Raises:
            ValueError: It is the state of other arguments.
        """
        self._draw.load_state_dict(state)
