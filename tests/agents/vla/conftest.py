"""Small networks, and observations of a made-up scene."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from wmrl_envs.agents.policies.vla import VLAPolicy
from wmrl_envs.agents.policies.vla.tiny import TinyVLA, TinyVLAConfig


@pytest.fixture
def observe() -> Callable[[int], dict[str, Any]]:
    """A made-up moment: instruction, picture, robot and two objects."""

    def make(seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        return {
            "task": f"open the {('drawer', 'door')[seed % 2]}",
            "agentview_image": rng.integers(0, 256, (32, 32, 3), np.uint8),
            "robot0_eef_pos": rng.normal(size=3).astype(np.float32),
            "robot0_eef_quat": rng.normal(size=4).astype(np.float32),
            "robot0_gripper_qpos": rng.normal(size=2).astype(np.float32),
            "object_poses": rng.normal(size=14).astype(np.float32),
            "fixture_joints": rng.normal(size=1).astype(np.float32),
        }

    return make


@pytest.fixture
def make_policy() -> Callable[..., VLAPolicy]:
    """Builds a policy on a network of some ten thousand parameters."""

    def build(seed: int = 0, temperature: float = 1.0, **settings: Any) -> VLAPolicy:
        torch.manual_seed(seed)
        small = {"action_chunk": 2, "width": 32, "layers": 1, "image_size": 32}
        model = TinyVLA(TinyVLAConfig(**{**small, **settings}))
        return VLAPolicy(model, temperature=temperature)

    return build
