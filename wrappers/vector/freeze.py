"""Freezing finished sub-environments, so that no autoreset breaks a group apart."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from wmrl_envs.wrappers.vector.rows import EpisodeClock, places, reset_mask

__all__ = ["FreezeWrapper"]


class FreezeWrapper(
    VectorWrapper[ObsType, ActType, ObsType, ActType, np.ndarray], RecordConstructorArgs
):
    """A finished sub-environment repeats its last observation until it is reset.

    It keeps the flags of its last step, gets reward 0.0 and no infos. Its actions are ignored, but
    must be valid. The autoreset mode becomes DISABLED: all episodes of a group that is reset
    together end apart and wait for the next ``reset``, whole or by ``options["reset_mask"]``.

    Beneath, any autoreset mode will do. A finished sub-environment plays on unseen, in episodes
    that nobody asked for; in DISABLED mode, where Gymnasium refuses to step it, it is reset for
    that purpose. When all are finished, nothing is stepped any more. ``AutoResearchVectorEnv``
    freezes by itself and needs none of this.

    Args:
        env: The vector environment; anchor sampling and the rest belong around this wrapper.

    Raises:
        ValueError: ``env`` is an ``AsyncVectorEnv`` without shared memory in NEXT_STEP mode.

    Example:
        >>> import gymnasium as gym
        >>> env = FreezeWrapper(gym.make_vec("CartPole-v1", 2, "sync"))
        >>> _ = env.reset(seed=[3, 3])
        >>> for _ in range(60):
        ...     _, rewards, terminations, _, _ = env.step(np.array([0, 1]))
        >>> rewards, terminations
        (array([0., 0.]), array([ True,  True]))
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, np.ndarray]) -> None:
        _check_resets(env)
        RecordConstructorArgs.__init__(self)
        VectorWrapper.__init__(self, env)
        self._inner_mode = EpisodeClock(env).mode
        self.metadata = {**env.metadata, "autoreset_mode": AutoresetMode.DISABLED}
        self._observations: list[Any] = [None] * self.num_envs
        self._terminated = np.zeros(self.num_envs, dtype=bool)
        self._truncated = np.zeros(self.num_envs, dtype=bool)
        self._inner_done = np.zeros(self.num_envs, dtype=bool)

    @property
    def finished(self) -> np.ndarray:
        """(N,) bool: the sub-environments that are frozen."""
        return self._terminated | self._truncated

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts episodes; those that ``options["reset_mask"]`` leaves out stay as they are."""
        mask = reset_mask(options, self.num_envs)
        options = None if options is None else dict(options)
        obs, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._terminated[mask] = self._truncated[mask] = self._inner_done[mask] = False
        self._keep(obs, mask)
        return self._batched(), infos

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the live sub-environments."""
        live = ~self.finished
        if not live.any():
            return self._batched(), np.zeros(self.num_envs), *self._flags(), {}
        self._revive()
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        self._inner_done = terminations | truncations
        self._keep(obs, live)
        ended = live & self._inner_done
        if self._inner_mode == AutoresetMode.SAME_STEP:
            infos = self._unnested(infos, ended)
        self._terminated[live], self._truncated[live] = terminations[live], truncations[live]
        rewards = np.where(live, rewards, 0.0)
        return self._batched(), rewards, *self._flags(), _only(infos, live, self.num_envs)

    def _revive(self) -> None:
        if self._inner_mode == AutoresetMode.DISABLED and self._inner_done.any():
            options = {"reset_mask": self._inner_done.copy(), "execute": False}
            self.env.reset(options=options)
            self._inner_done[:] = False

    def _keep(self, obs: ObsType, mask: np.ndarray) -> None:
        for i, observation in enumerate(iterate(self.observation_space, obs)):
            if mask[i]:
                self._observations[i] = deepcopy(observation)

    def _unnested(self, infos: dict[str, Any], ended: np.ndarray) -> dict[str, Any]:
        """Takes ended episodes' last observations and infos from where SAME_STEP puts them."""
        last = {key: value for key, value in infos.items() if "final_" not in key}
        last = _only(last, ~ended, self.num_envs)
        for i in places(ended):
            self._observations[i] = infos["final_obs"][i]
            self._add_info(last, _row(infos.get("final_info", {}), i), i)
        return last

    def _batched(self) -> ObsType:
        space = self.single_observation_space
        empty: Any = create_empty_array(space, n=self.num_envs, fn=np.zeros)
        return cast("ObsType", concatenate(space, self._observations, empty))

    def _flags(self) -> tuple[np.ndarray, np.ndarray]:
        return self._terminated.copy(), self._truncated.copy()


def _check_resets(env: VectorEnv[Any, Any, Any]) -> None:
    """Refuses the one setting in which an explicit reset does not cancel a pending autoreset."""
    base = env.unwrapped
    if (
        isinstance(base, AsyncVectorEnv)
        and not base.shared_memory
        and EpisodeClock(env).mode == AutoresetMode.NEXT_STEP
    ):
        raise ValueError(
            "AsyncVectorEnv with shared_memory=False loses the first step after a reset in "
            "NEXT_STEP mode (Gymnasium 1.4); make it with autoreset_mode=AutoresetMode.SAME_STEP "
            "or AutoresetMode.DISABLED"
        )


def _row(infos: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Everything that infos say of one sub-environment, as it said it itself."""
    row = {}
    for key, mask in infos.items():
        if key.startswith("_") and key[1:] in infos and mask[index]:
            value = infos[key[1:]]
            row[key[1:]] = _row(value, index) if isinstance(value, Mapping) else value[index]
    return row


def _only(infos: Mapping[str, Any], keep: np.ndarray, num_envs: int) -> dict[str, Any]:
    """The infos of the sub-environments in ``keep`` (N,)."""
    helper = VectorEnv[Any, Any, Any]()
    helper.num_envs = num_envs
    kept: dict[str, Any] = {}
    for i in places(keep):
        helper._add_info(kept, _row(infos, i), i)
    return kept
