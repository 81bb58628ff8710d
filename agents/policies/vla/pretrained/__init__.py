"""Published robot policies behind this package's interfaces."""

from wmrl_envs.agents.policies.vla.pretrained.lerobot import LeRobotPolicy
from wmrl_envs.agents.policies.vla.pretrained.openvla import OpenVLA

__all__ = ["LeRobotPolicy", "OpenVLA"]
