"""The mathematics of the reward path, without Gymnasium in it."""

from wmrl_envs.wrappers.estimators.adaptive import AdaptiveShare
from wmrl_envs.wrappers.estimators.agreement import AgreementMonitor, RewardHackingWarning
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.estimators.correction import Correction
from wmrl_envs.wrappers.estimators.fitted import Corrected, FittedCorrection

__all__ = [
    "AdaptiveShare",
    "AgreementMonitor",
    "AnchorDraw",
    "Corrected",
    "Correction",
    "FittedCorrection",
    "RewardHackingWarning",
]
