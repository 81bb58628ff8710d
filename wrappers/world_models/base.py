"""What a world model is: something that grades episodes without executing them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

__all__ = ["Episode", "Prediction", "WorldModel"]


@dataclass(frozen=True)
class Episode:
    """What a grader would get to see of one episode.

    Attributes:
        task: The task's text: the ``task`` entry of a Dict observation, the first observation
            itself where it is a string, and "" in environments without text.
        actions: The actions taken so far, in order: solution texts or arrays.
        initial_observation: The observation that ``reset`` returned.
        frames: (n, H, W, 3) uint8 frames spread over the episode, or None where none were asked
            for.
    """

    task: str
    actions: tuple[Any, ...]
    initial_observation: Any = None
    frames: np.ndarray | None = None


@dataclass(frozen=True)
class Prediction:
    """A world model's answer for one episode.

    Attributes:
        reward: The predicted reward of the episode, a finite float, or None for "no opinion".
        feedback: Text that can stand in for the environment's feedback in a multi-turn episode.
        std: The model's own estimate of the standard deviation of its error, in units of the
            reward, or None where it has none.
    """

    reward: float | None
    feedback: str = ""
    std: float | None = None


@runtime_checkable
class WorldModel(Protocol):
    """Predicts the rewards of a batch of episodes."""

    def predict(self, episodes: Sequence[Episode]) -> Sequence[Prediction]:
        """Returns one prediction an episode, in the same order."""
        ...
