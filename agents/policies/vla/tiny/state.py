"""The state observations of LIBERO as one vector, and as features that are easy to learn from."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from wmrl_envs.agents.policies.vla.tiny.config import TinyVLAConfig

__all__ = ["StateFeatures", "state_vector"]

_ROBOT = {
    "robot0_eef_pos": 3,
    "robot0_eef_quat": 4,
    "robot0_gripper_qpos": 2,
    "robot0_gripper_qvel": 2,
    "robot0_joint_pos": 7,
    "robot0_joint_vel": 7,
}
_ROBOT_SIZE = sum(_ROBOT.values())
_POSE = 7
_FAR, _NEAR = 0.15, 0.03
"""Metres: at the first scale the hand finds an object, at the second it grasps."""
_STILL = 0.02
"""Entries that hardly vary in the data are not blown up: m, rad, or m/s."""


def state_vector(observation: Mapping[str, Any], config: TinyVLAConfig) -> NDArray[np.float32]:
    """Joins the entries of one observation, or of any number of moments.

    Args:
        observation: By name, as LIBERO's environment gives them; each may have a leading axis of
            T moments. Poses and joints beyond those that the task has may be left out or zero.
        config: Which entries, and for how many objects and joints there is room.

    Returns:
        (D,) or (T, D), float32.

    Raises:
        ValueError: An entry is missing, or there are too many objects or joints.
    """
    missing = [name for name in _ROBOT if name not in observation]
    if missing:
        raise ValueError(
            f"the observation lacks {missing}: make the environment with observation='state' or "
            "'pixels_state'"
        )
    parts = [np.asarray(observation[name], np.float32) for name in _ROBOT]
    if config.sees_objects:
        lead = parts[0].shape[:-1]
        sizes = {"object_poses": _POSE * config.objects, "fixture_joints": config.fixture_joints}
        parts += [_fitted(name, observation.get(name, ()), lead, n) for name, n in sizes.items()]
    return np.concatenate(parts, axis=-1)


def _fitted(name: str, value: ArrayLike, lead: tuple[int, ...], size: int) -> NDArray[np.float32]:
    """The entry with zeros for the objects that a task does not have."""
    given = np.asarray(value, np.float32)
    given = given.reshape(*lead, -1) if given.size else np.zeros((*lead, 0), np.float32)
    if given[..., size:].any():
        raise ValueError(f"{name} must have at most {size} entries, got {given.shape[-1]}")
    fitted = np.zeros((*lead, size), np.float32)
    fitted[..., : given.shape[-1]] = given[..., :size]
    return fitted


class StateFeatures(nn.Module):
    """Normalises state vectors and adds where the objects are as seen from the hand.

    Args:
        config: The network's.

    Attributes:
        size: The number of entries of a state vector, D.
        features: The number of features, F.
    """

    mean: torch.Tensor
    spread: torch.Tensor

    def __init__(self, config: TinyVLAConfig) -> None:
        super().__init__()
        self._objects = config.objects if config.sees_objects else 0
        joints = config.fixture_joints if config.sees_objects else 0
        self.size = _ROBOT_SIZE + _POSE * self._objects + joints
        self.features = self.size + 6 * self._objects
        self.register_buffer("mean", torch.zeros(self.size))
        self.register_buffer("spread", torch.ones(self.size))

    def fit(self, states: NDArray[np.float32]) -> None:
        """Takes mean and standard deviation of (N, D) states."""
        self.mean.copy_(torch.from_numpy(states.mean(axis=0)))
        self.spread.copy_(torch.from_numpy(np.maximum(states.std(axis=0), _STILL)))

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        """(B, D) states to (B, F) features."""
        normal = ((state - self.mean) / self.spread).clamp(-5.0, 5.0)
        if not self._objects:
            return normal
        poses = state[:, _ROBOT_SIZE : _ROBOT_SIZE + _POSE * self._objects]
        poses = poses.view(-1, self._objects, _POSE)
        present = poses[..., 3:].any(dim=-1, keepdim=True)
        offset = (poses[..., :3] - state[:, None, :3]) * present
        near = torch.tanh(offset / _NEAR)
        return torch.cat([normal, (offset / _FAR).flatten(1), near.flatten(1)], dim=1)
