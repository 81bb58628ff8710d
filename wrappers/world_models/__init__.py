"""World models: what grades an episode without executing it."""

from wmrl_envs.wrappers.world_models.base import Episode, Prediction, WorldModel
from wmrl_envs.wrappers.world_models.callable import CallableWorldModel

__all__ = ["CallableWorldModel", "Episode", "Prediction", "WorldModel"]
