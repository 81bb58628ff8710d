"""What became of the rollouts, whatever the arm's reward says: for the record, not for learning."""

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from wmrl_envs import info as keys

__all__ = ["SuccessCount"]


class SuccessCount(VectorWrapper[Any, Any, Any, Any, np.ndarray]):
    """Remembers which of the episodes that were reset together reached their goal.

    Args:
        env: LIBERO environments that freeze when an episode ends.
    """

    def __init__(self, env: VectorEnv[Any, Any, np.ndarray]) -> None:
        super().__init__(env)
        self._success = np.zeros(self.num_envs, np.bool_)

    @property
    def rate(self) -> float:
        """The share of successes since the last reset."""
        return float(self._success.mean())

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts episodes."""
        self._success[:] = False
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the environments."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        self._success |= info_flags(infos, self.num_envs)
        return observations, rewards, terminated, truncated, infos


def info_flags(infos: dict[str, Any], n: int) -> np.ndarray:
    """(N,) bool: the episodes that say that they have succeeded."""
    return np.asarray(keys.masked(infos, keys.IS_SUCCESS, n, False)[0], np.bool_)
