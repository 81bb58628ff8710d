"""The mathematics of the reward path, without Gymnasium in it."""

from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.estimators.correction import Correction
from wmrl_envs.wrappers.estimators.fitted import Corrected, FittedCorrection

__all__ = ["AnchorDraw", "Corrected", "Correction", "FittedCorrection"]
