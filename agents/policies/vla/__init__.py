"""Vision-language-action policies: what a robot sees and is told, to tokens that are its motion."""

from wmrl_envs.agents.policies.vla.action_tokens import ActionTokenizer
from wmrl_envs.agents.policies.vla.base import Decoding, ModelInput, VLAModel
from wmrl_envs.agents.policies.vla.policy import VLAPolicy

__all__ = ["ActionTokenizer", "Decoding", "ModelInput", "VLAModel", "VLAPolicy"]
