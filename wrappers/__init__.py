"""The reward path: anchor sampling, world-model rewards and their correction."""

from wmrl_envs.wrappers.anchor_sampling import AnchorSamplingWrapper
from wmrl_envs.wrappers.correction import CorrectionWrapper
from wmrl_envs.wrappers.estimators.adaptive import AdaptiveShare
from wmrl_envs.wrappers.estimators.agreement import AgreementMonitor, RewardHackingWarning
from wmrl_envs.wrappers.execution_log import ExecutionLogWrapper
from wmrl_envs.wrappers.world_model_reward import WorldModelRewardWrapper
from wmrl_envs.wrappers.world_models import CallableWorldModel, Episode, Prediction, WorldModel

__all__ = [
    "AdaptiveShare",
    "AgreementMonitor",
    "AnchorSamplingWrapper",
    "CallableWorldModel",
    "CorrectionWrapper",
    "Episode",
    "ExecutionLogWrapper",
    "Prediction",
    "RewardHackingWarning",
    "WorldModel",
    "WorldModelRewardWrapper",
]
