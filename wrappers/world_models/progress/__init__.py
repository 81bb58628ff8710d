"""Progress of a manipulation task, predicted from frames and the instruction."""

from wmrl_envs.wrappers.world_models.progress.clips import ProgressClip
from wmrl_envs.wrappers.world_models.progress.model import ProgressWorldModel
from wmrl_envs.wrappers.world_models.progress.training import (
    ProgressFidelity,
    ProgressSettings,
    progress_fidelity,
    train_progress,
)

__all__ = [
    "ProgressClip",
    "ProgressFidelity",
    "ProgressSettings",
    "ProgressWorldModel",
    "progress_fidelity",
    "train_progress",
]
