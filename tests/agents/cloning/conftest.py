"""A network of a few thousand parameters, and episodes in which the right answer is visible."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from wmrl_envs.agents.policies.vla.tiny import TinyVLA, TinyVLAConfig


@pytest.fixture
def make_model() -> Callable[..., TinyVLA]:
    def build(seed: int = 0, **settings: Any) -> TinyVLA:
        torch.manual_seed(seed)
        small = {"action_chunk": 1, "width": 32, "layers": 1, "objects": 1, "image_size": 16}
        return TinyVLA(TinyVLAConfig(**{**small, **settings}))

    return build


@pytest.fixture
def make_episode() -> Callable[..., Any]:
    """An episode whose actions point from the hand to the object, and close there."""

    def build(seed: int, steps: int = 12) -> Any:
        rng = np.random.default_rng(seed)
        hand = rng.uniform(-0.1, 0.1, (steps + 1, 3)).astype(np.float32)
        target = rng.uniform(-0.1, 0.1, 3).astype(np.float32)
        still = np.tile(np.array([0, 0, 0, 1], np.float32), (steps + 1, 1))
        actions = np.zeros((steps, 7), np.float32)
        actions[:, :3] = np.clip(10 * (target - hand[:-1]), -1, 1)
        actions[:, 6] = np.where(np.arange(steps) < steps // 2, -1, 1)
        observations = {
            "robot0_eef_pos": hand,
            "robot0_eef_quat": still,
            "robot0_gripper_qpos": np.zeros((steps + 1, 2), np.float32),
            "object_poses": np.concatenate([np.tile(target, (steps + 1, 1)), still], axis=1),
        }
        return SimpleNamespace(instruction="go", observations=observations, intended=actions)

    return build
