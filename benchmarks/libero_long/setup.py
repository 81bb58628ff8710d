"""Builds the parts of a run: simulators, policy, world model."""

from typing import Any

import gymnasium as gym

from wmrl_envs.agents.policies.vla.policy import VLAPolicy
from wmrl_envs.benchmarks.autoresearch.records import SettingsError
from wmrl_envs.benchmarks.libero_long.arms import ARMS
from wmrl_envs.benchmarks.libero_long.config import LiberoConfig
from wmrl_envs.errors import WorldModelError
from wmrl_envs.libero.vector_env import LiberoVectorEnv
from wmrl_envs.wrappers.world_models.progress import ProgressWorldModel

__all__ = ["load_policy", "load_world_model", "make_envs"]


def make_envs(config: LiberoConfig, states: tuple[int, ...], policy: VLAPolicy) -> LiberoVectorEnv:
    """The rollouts' environments, with what the policy observes.

    Args:
        config: The run's settings.
        states: The initial states to start from.
        policy: Says which observation it reads and how long its chunks are.
    """
    envs: Any = gym.make_vec(
        "wmrl_envs:WMRL/LiberoLong-v0",
        num_envs=config.num_envs,
        task_id=config.tasks,
        split=states,
        observation=policy.model.config.observation,
        action_chunk=policy.model.config.action_chunk,
        horizon=config.horizon,
        image_size=config.image_size,
        render_mode="rgb_array",
        workers=config.workers,
    )
    return envs


def load_policy(config: LiberoConfig) -> VLAPolicy:
    """The policy to start from.

    Raises:
        SettingsError: The folder holds none.
    """
    if not config.policy:
        raise SettingsError("policy must be the folder of a cloned policy (`wmrl sft vla`), got ''")
    try:
        return VLAPolicy.load(config.policy)
    except (OSError, ValueError, KeyError) as error:
        raise SettingsError(f"policy: {config.policy} holds no VLA policy: {error}") from error


def load_world_model(config: LiberoConfig) -> ProgressWorldModel | None:
    """The arm's world model; None where the arm has none.

    Raises:
        SettingsError: The folder holds none.
    """
    if not ARMS[config.arm].world_model:
        return None
    if not config.world_model:
        raise SettingsError(
            f"world_model must be the folder of a progress model for arm {config.arm!r}, got ''"
        )
    try:
        return ProgressWorldModel.load(config.world_model)
    except WorldModelError as error:
        raise SettingsError(f"world_model: {error}") from error
