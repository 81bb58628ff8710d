"""The state observations of LIBERO as one vector, and as features that are easy to learn from."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from wmrl_envs.agents.policies.vla.tiny.config import TinyVLAConfig

__all__ = ["StateFeatures", "state_vector"]

# Velocities and joint angles are left out: a cloned policy takes its own motion for the reason of
# the next one ("causal confusion", arXiv 1905.11979).
_ROBOT = ("robot0_eef_pos", "robot0_eef_quat", "robot0_gripper_qpos")
_POSE, _ROBOT_SIZE = 7, 9
_TURNED, _PLACED = 6, 12
_FAR, _NEAR = 0.15, 0.03
"""Metres: at the first scale the hand finds an object, at the second it grasps."""
_STILL = 0.01
"""Entries that hardly vary in the data are not blown up: m or rad."""


def state_vector(observation: Mapping[str, Any], config: TinyVLAConfig) -> NDArray[np.float32]:
    """Joins the entries of one observation.

    Args:
        observation: By name, as LIBERO's environment gives them. Poses and joints beyond those that
            the task has may be left out or zero.
        config: Which entries, and for how many objects and joints there is room.

    Returns:
        (D,), float32: the hand's pose and fingers; with objects also their poses, and joints.

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
        sizes = {"object_poses": _POSE * config.objects, "fixture_joints": config.fixture_joints}
        parts += [_fitted(name, observation.get(name, ()), n) for name, n in sizes.items()]
    return np.concatenate(parts)


def _fitted(name: str, value: ArrayLike, size: int) -> NDArray[np.float32]:
    """The entry with zeros for the objects that a task does not have."""
    given = np.asarray(value, np.float32).ravel()
    if given[size:].any():
        raise ValueError(f"{name} must have at most {size} entries, got {given.size}")
    fitted = np.zeros(size, np.float32)
    fitted[: given.size] = given[:size]
    return fitted


class StateFeatures(nn.Module):
    """Normalises state vectors and adds how hand and objects stand to each other.

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
        self.features = self.size + _TURNED + (_TURNED + _PLACED) * self._objects
        self.register_buffer("mean", torch.zeros(self.size))
        self.register_buffer("spread", torch.ones(self.size))

    def fit(self, states: NDArray[np.float32]) -> None:
        """Takes mean and standard deviation of (N, D) states."""
        self.mean.copy_(torch.from_numpy(states.mean(axis=0)))
        self.spread.copy_(torch.from_numpy(np.maximum(states.std(axis=0), _STILL)))

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        """(B, D) states to (B, F) features."""
        normal = ((state - self.mean) / self.spread).clamp(-5.0, 5.0)
        hand = _rotation(state[:, 3:_POSE])
        parts = [normal, _two_axes(hand)]
        if self._objects:
            parts.append(self._relations(state, hand).flatten(1))
        return torch.cat(parts, dim=1)

    def _relations(self, state: torch.Tensor, hand: torch.Tensor) -> torch.Tensor:
        """(B, objects, features): where each object is from the hand, and the hand from it."""
        poses = state[:, _ROBOT_SIZE : _ROBOT_SIZE + _POSE * self._objects]
        poses = poses.view(-1, self._objects, _POSE)
        present = poses[..., 3:].any(dim=-1, keepdim=True)
        turned = _rotation(poses[..., 3:])
        offset = state[:, None, :3] - poses[..., :3]
        seen_from_object = (turned.transpose(-1, -2) @ offset[..., None])[..., 0]
        places = [f(v) for v in (offset, seen_from_object) for f in (_at_far, _at_near)]
        relative = _two_axes(turned.transpose(-1, -2) @ hand[:, None])
        return torch.cat([*places, relative], dim=-1) * present


def _at_far(offset: torch.Tensor) -> torch.Tensor:
    return offset / _FAR


def _at_near(offset: torch.Tensor) -> torch.Tensor:
    return torch.tanh(offset / _NEAR)


def _two_axes(rotation: torch.Tensor) -> torch.Tensor:
    """The first two columns (..., 6): continuous, unlike quaternions (arXiv 1812.07035)."""
    return rotation[..., :2].flatten(-2)


def _rotation(quaternion: torch.Tensor) -> torch.Tensor:
    """(..., 4) x, y, z, w to matrices (..., 3, 3); zeros give the unit matrix."""
    x, y, z, w = quaternion.unbind(-1)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
