"""World models that other world models ask."""

from collections.abc import Sequence
from typing import Any

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction, WorldModel
from wmrl_envs.wrappers.world_models.callable import CallableWorldModel, listed

__all__ = ["ask", "member"]


def member(world_model: Any) -> WorldModel:
    """A world model as it is, or a function of episodes as a world model.

    Raises:
        TypeError: ``world_model`` neither predicts nor can be called.
    """
    if callable(getattr(world_model, "predict", None)) and not isinstance(world_model, type):
        return world_model
    if callable(world_model) and not isinstance(world_model, type):
        return CallableWorldModel(world_model)
    raise TypeError(
        f"world_model must have predict(episodes) or be a function of episodes, got {world_model!r}"
    )


def ask(world_model: WorldModel, episodes: Sequence[Episode]) -> list[Prediction]:
    """One prediction an episode; a model is not asked about none.

    Raises:
        WorldModelError: The world model answers with another number of predictions.
    """
    answers = listed(world_model.predict(list(episodes))) if episodes else []
    if len(answers) != len(episodes):
        raise WorldModelError(
            f"{type(world_model).__name__}.predict must return {len(episodes)} predictions, one an "
            f"episode, got {len(answers)}"
        )
    return answers
