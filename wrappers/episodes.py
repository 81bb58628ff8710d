"""Recording what a world model gets to see of an episode."""

from copy import deepcopy
from typing import Any

import gymnasium as gym

from wmrl_envs.resets import task_text
from wmrl_envs.spaces import UnicodeText
from wmrl_envs.wrappers.frames import FrameSampler
from wmrl_envs.wrappers.world_models.base import Episode

__all__ = ["EpisodeRecorder", "has_text_feedback"]


class EpisodeRecorder:
    """Gathers one episode: its task, its actions and, if asked for, its frames.

    Args:
        observation: The observation that ``reset`` returned.
        frames: How many frames to spread over the episode; 0 for none.

    Example:
        >>> recorder = EpisodeRecorder("Fit a model.", frames=0)
        >>> recorder.add("print(1)")
        >>> recorder.episode()
        Episode(task='Fit a model.', actions=('print(1)',), initial_observation='Fit a model.', \
frames=None)
    """

    def __init__(self, observation: Any, frames: int) -> None:
        self._observation = deepcopy(observation)
        self._actions: list[Any] = []
        self.frames = FrameSampler(frames)

    def add(self, action: Any) -> None:
        """Takes the next action; arrays are copied, because callers reuse their buffers."""
        self._actions.append(deepcopy(action))

    def episode(self) -> Episode:
        """The episode so far."""
        return Episode(
            task=task_text(self._observation),
            actions=tuple(self._actions),
            initial_observation=self._observation,
            frames=self.frames.spread(),
        )


def has_text_feedback(space: gym.Space[Any]) -> bool:
    """Whether observations are Dicts whose ``feedback`` is text, as in multi-turn text tasks."""
    if not isinstance(space, gym.spaces.Dict) or "feedback" not in space.spaces:
        return False
    return isinstance(space["feedback"], (UnicodeText, gym.spaces.Text))
