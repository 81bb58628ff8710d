"""The reward path for vector environments: the same names, batched."""

from wmrl_envs.wrappers.vector.anchor_sampling import AnchorSamplingWrapper
from wmrl_envs.wrappers.vector.correction import CorrectionWrapper
from wmrl_envs.wrappers.vector.execution_log import ExecutionLogWrapper
from wmrl_envs.wrappers.vector.freeze import FreezeWrapper
from wmrl_envs.wrappers.vector.world_model_reward import WorldModelRewardWrapper

__all__ = [
    "AnchorSamplingWrapper",
    "CorrectionWrapper",
    "ExecutionLogWrapper",
    "FreezeWrapper",
    "WorldModelRewardWrapper",
]
