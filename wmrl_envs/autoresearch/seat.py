"""One place of a vector environment: its generator, its episode and how far that has come."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding

from wmrl_envs import info as keys
from wmrl_envs.autoresearch.episode import Episode, Observation, begin
from wmrl_envs.autoresearch.outcome import Outcome, Submission
from wmrl_envs.autoresearch.rules import Rules

__all__ = ["Seat"]


class Seat:
    """A sub-environment without Gymnasium around it.

    Args:
        rules: The rules of its episodes.
        max_episode_steps: Steps after which an episode is truncated; None for no limit.

    Attributes:
        reward: The reward of the latest step.
        terminated: The episode has come to its end.
        truncated: The episode has come to ``max_episode_steps``.
    """

    def __init__(self, rules: Rules, max_episode_steps: int | None) -> None:
        self.reward = 0.0
        self.terminated = self.truncated = False
        self._rules = rules
        self._max_episode_steps = max_episode_steps
        self._steps = 0
        self._episode: Episode | None = None
        self._np_random: np.random.Generator | None = None
        self._np_random_seed: int | None = None

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that draws the seeds of unseeded episodes."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = seeding.np_random()
        return self._np_random

    @property
    def np_random_seed(self) -> int | None:
        """The seed of the generator."""
        _ = self.np_random
        return self._np_random_seed

    @property
    def done(self) -> bool:
        """True while the seat waits for a reset after the end of an episode."""
        return self.terminated or self.truncated

    @property
    def episode(self) -> Episode:
        """The episode that the seat plays or has played.

        Raises:
            ResetNeeded: There was none yet.
        """
        if self._episode is None:
            raise ResetNeeded("a sub-environment has no episode: reset all of them before step")
        return self._episode

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Starts an episode and returns the reset's info."""
        if seed is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)
        self._episode = begin(self._rules, self.np_random, seed, options)
        self._steps = 0
        self.reward = 0.0
        self.terminated = self.truncated = False
        return {keys.TASK: self._episode.task.name}

    def observation(self) -> Observation:
        """The latest observation."""
        return self.episode.observation()

    def propose(self, action: Any) -> Submission | Outcome:
        """See :meth:`Episode.propose`."""
        return self.episode.propose(action)

    def advance(self, action: str, outcome: Outcome) -> dict[str, Any]:
        """Ends a turn and returns the step's info."""
        _, self.reward, self.terminated, self.truncated, info = self.episode.advance(
            action, outcome
        )
        self._steps += 1
        if self._max_episode_steps is not None and self._steps >= self._max_episode_steps:
            self.truncated = True
        return info

    def rest(self) -> dict[str, Any]:
        """Lets a step of the others pass and returns the step's info, which is empty."""
        self.reward = 0.0
        return {}
