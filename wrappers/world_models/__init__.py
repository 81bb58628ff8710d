"""World models: what grades an episode without executing it.

The progress model's names are found when they are first asked for, since they import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from wmrl_envs.wrappers.world_models.progress import (
        ProgressClip,
        ProgressFidelity,
        ProgressSettings,
        ProgressWorldModel,
        progress_fidelity,
        train_progress,
    )

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
    "ProgressClip",
    "ProgressFidelity",
    "ProgressSettings",
    "ProgressWorldModel",
    "RegressionWorldModel",
    "RobometerWorldModel",
    "Transport",
    "WorldModel",
    "choose_examples",
    "fidelity",
    "progress_fidelity",
    "read_log",
    "train_progress",
    "write_log",
]

_PROGRESS = "wmrl_envs.wrappers.world_models.progress"


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(_PROGRESS), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
