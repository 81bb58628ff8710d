"""A vision-language-action network small enough to be trained on a laptop's processor."""

from wmrl_envs.agents.policies.vla.tiny.config import TinyVLAConfig
from wmrl_envs.agents.policies.vla.tiny.model import TinyVLA

__all__ = ["TinyVLA", "TinyVLAConfig"]
