"""World models: what grades an episode without executing it."""

from wmrl_envs.wrappers.world_models.base import Episode, Prediction, WorldModel
from wmrl_envs.wrappers.world_models.cached import CachedWorldModel
from wmrl_envs.wrappers.world_models.callable import CallableWorldModel
from wmrl_envs.wrappers.world_models.endpoint import EndpointWorldModel, Transport
from wmrl_envs.wrappers.world_models.ensemble import EnsembleWorldModel
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode, read_log, write_log
from wmrl_envs.wrappers.world_models.few_shot import choose_examples
from wmrl_envs.wrappers.world_models.fidelity import Fidelity, fidelity
from wmrl_envs.wrappers.world_models.gate import CompileGate
from wmrl_envs.wrappers.world_models.generation import Generation
from wmrl_envs.wrappers.world_models.grade_scale import GradeScale
from wmrl_envs.wrappers.world_models.language_model import LanguageModelWorldModel
from wmrl_envs.wrappers.world_models.regression import RegressionWorldModel
from wmrl_envs.wrappers.world_models.robometer import RobometerWorldModel

__all__ = [
    "CachedWorldModel",
    "CallableWorldModel",
    "CompileGate",
    "EndpointWorldModel",
    "EnsembleWorldModel",
    "Episode",
    "Fidelity",
    "Generation",
    "GradeScale",
    "LanguageModelWorldModel",
    "LoggedEpisode",
    "Prediction",
    "RegressionWorldModel",
    "RobometerWorldModel",
    "Transport",
    "WorldModel",
    "choose_examples",
    "fidelity",
    "read_log",
    "write_log",
]
