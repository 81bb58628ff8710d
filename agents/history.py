"""The turns so far as a part of the observation, for policies that converse."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from wmrl_envs.spaces import UnicodeText

__all__ = ["HISTORY", "HistoryObservation"]

HISTORY = "history"
"""The observation's new key."""

Turn = tuple[str, str]
"""What the agent wrote, and the feedback that it got."""


class HistoryObservation(VectorWrapper):
    """Adds the episode's turns to each observation, so that a policy needs no memory of its own.

    A sub-environment's ``history`` is a tuple of (action, feedback) pairs, the oldest first; it is
    empty after a reset. Put this wrapper outermost: the feedback that it keeps is then the one that
    the policy saw, a world model's included. It has no state between episodes, so checkpoints need
    nothing of it. Under same-step autoreset, ``final_obs`` stays without a history.

    Args:
        env: A vector environment with text actions, whose observations are mappings with a text
            entry "feedback".

    Raises:
        TypeError: The spaces are others.

    Example:
        >>> import gymnasium as gym
        >>> envs = gym.make_vec(
        ...     "wmrl_envs:WMRL/AutoResearch-v0", num_envs=1, tasks="concrete", max_turns=2
        ... )
        >>> envs = HistoryObservation(envs)
        >>> _ = envs.reset(seed=0)
        >>> observations, *_ = envs.step(("no code",))
        >>> observations["history"][0][0][0]
        'no code'
        >>> envs.close()
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        single = env.single_observation_space
        action = env.single_action_space
        if not isinstance(action, UnicodeText) or not isinstance(single, spaces.Dict):
            raise TypeError(
                "env must have text actions and Dict observations, got "
                f"{action!r} and {type(single).__name__}"
            )
        if not isinstance(single.spaces.get("feedback"), UnicodeText):
            raise TypeError(f"observations must have a text 'feedback', got {sorted(single)}")
        turn = spaces.Tuple((action, single["feedback"]))
        self.single_observation_space = spaces.Dict({**single, HISTORY: spaces.Sequence(turn)})
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._turns: list[tuple[Turn, ...]] = []
        self._over = np.zeros(env.num_envs, bool)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins new histories, where ``options["reset_mask"]`` is given in its rows alone."""
        everywhere = np.ones(self.num_envs, bool)
        # Read first: Gymnasium's environments take it out of the options.
        fresh = (options or {}).get("reset_mask", everywhere) if self._turns else everywhere
        observations, infos = self.env.reset(seed=seed, options=options)
        self._forget(np.asarray(fresh, bool))
        return self._with_history(observations), infos

    def step(self, actions: Sequence[str]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Notes each running episode's action and feedback."""
        observations, rewards, ended, cut, infos = self.env.step(actions)
        for i in np.flatnonzero(~self._over).tolist():
            self._turns[i] += ((actions[i], observations["feedback"][i]),)
        done = np.asarray(ended, bool) | np.asarray(cut, bool)
        if self._mode is AutoresetMode.SAME_STEP:
            self._forget(done)
        elif self._mode is AutoresetMode.NEXT_STEP:
            self._forget(self._over)
            self._over = done
        else:
            self._over |= done
        return self._with_history(observations), rewards, ended, cut, infos

    def _forget(self, rows: np.ndarray) -> None:
        kept = self._turns or [()] * self.num_envs
        self._turns = [() if gone else turns for gone, turns in zip(rows, kept, strict=True)]
        self._over = self._over & ~rows

    def _with_history(self, observations: Any) -> dict[str, Any]:
        return {**observations, HISTORY: tuple(self._turns)}
