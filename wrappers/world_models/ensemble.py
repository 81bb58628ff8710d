"""Several world models as one: their mean, and their spread as an estimate of the noise."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.members import ask, member


class EnsembleWorldModel:
    """Predicts the mean of its members' predictions; their standard deviation is ``std``.

    A member without an opinion on an episode is left out of that episode's mean. With fewer than
    ``quorum`` opinions the ensemble has none itself. ``std`` is the sample standard deviation of
    the opinions (n - 1 in the denominator), and None for a single one: one member's agreement with
    itself says nothing. Feedback is that of the first member which gives any.

    Args:
        world_models: The members: objects with ``predict``, or functions of episodes.
        quorum: The fewest opinions that make a prediction.

    Raises:
        TypeError: A member predicts nothing.
        ValueError: There is no member, or ``quorum`` does not lie between 1 and their number.
        WorldModelError: In ``predict``, if a member answers with another number of predictions.

    Example:
        >>> members = [lambda es: [0.4 for _ in es], lambda es: [0.6 for _ in es]]
        >>> prediction = EnsembleWorldModel(members).predict([Episode("", ("x = 1",))])[0]
        >>> prediction.reward, round(prediction.std, 3)
        (0.5, 0.141)
    """

    def __init__(self, world_models: Sequence[Any], quorum: int = 1) -> None:
        self.world_models = tuple(member(model) for model in world_models)
        if not self.world_models:
            raise ValueError("world_models must hold at least one world model, got none")
        if not 1 <= quorum <= len(self.world_models):
            raise ValueError(
                f"quorum must lie between 1 and the {len(self.world_models)} members, "
                f"got {quorum!r}"
            )
        self.quorum = quorum

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order."""
        answers = [ask(model, episodes) for model in self.world_models]
        return [self._combined(opinions) for opinions in zip(*answers, strict=True)]

    def _combined(self, answers: Sequence[Prediction]) -> Prediction:
        feedback = next((answer.feedback for answer in answers if answer.feedback), "")
        rewards = [answer.reward for answer in answers if answer.reward is not None]
        if len(rewards) < self.quorum:
            return Prediction(None, feedback)
        std = float(np.std(rewards, ddof=1)) if len(rewards) > 1 else None
        return Prediction(float(np.mean(rewards)), feedback, std)
