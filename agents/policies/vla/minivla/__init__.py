"""MiniVLA: Qwen2.5-0.5B that sees through DINOv2 and SigLIP, in prismatic's checkpoint layout."""

from wmrl_envs.agents.policies.vla.minivla.architecture import PUBLISHED, Architecture, Tower
from wmrl_envs.agents.policies.vla.minivla.checkpoint import CheckpointError
from wmrl_envs.agents.policies.vla.minivla.model import MiniVLA

__all__ = ["PUBLISHED", "Architecture", "CheckpointError", "MiniVLA", "Tower"]
