"""Trains one arm on LIBERO-Long and leaves a run folder behind.

``config.json`` holds the settings, ``steps.jsonl`` a line a step, ``checkpoint.pt`` the learner,
``evaluation.json`` the success of the trained policy, ``episodes`` films, and ``policy``, which
comes last, the policy.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from gymnasium.vector import VectorEnv

from wmrl_envs.agents.callbacks import BaseCallback, CallbackList, CheckpointCallback
from wmrl_envs.agents.diagnostics import DiagnosticsCallback
from wmrl_envs.agents.grpo import GRPO
from wmrl_envs.agents.policies.vla.policy import VLAPolicy
from wmrl_envs.benchmarks.autoresearch.arms import stack
from wmrl_envs.benchmarks.autoresearch.records import (
    SettingsError,
    append_line,
    is_finished,
    keep_until,
    write_record,
)
from wmrl_envs.benchmarks.libero_long.arms import ARMS
from wmrl_envs.benchmarks.libero_long.config import LiberoConfig
from wmrl_envs.benchmarks.libero_long.evaluation import measure_success
from wmrl_envs.benchmarks.libero_long.outcomes import SuccessCount
from wmrl_envs.benchmarks.libero_long.setup import load_policy, load_world_model, make_envs
from wmrl_envs.benchmarks.run_folder import alone

__all__ = ["train"]

_TRAINING_STATES = tuple(range(16))


def train(config: LiberoConfig, folder: Path) -> None:
    """Runs an arm to its last step and evaluates it.

    A folder with a checkpoint is resumed, and a finished one left as it is.

    Args:
        config: The settings; a resumed folder must have been made with the same.
        folder: The run folder.

    Raises:
        SettingsError: The settings cannot be had, or are not those of the folder, or another
            process is training there.
        LiberoUnavailable: LIBERO is not installed.
    """
    config.check_same(folder / "config.json")
    if is_finished(folder):
        return
    torch.set_num_threads(config.threads)
    policy = load_policy(config)
    with alone(folder):
        config.write(folder / "config.json")
        _learn(config, policy, folder)
        _evaluate(config, policy, folder)
        partial = folder / "policy.partial"
        policy.save(partial)
        partial.rename(folder / "policy")


def _learn(config: LiberoConfig, policy: VLAPolicy, folder: Path) -> None:
    arm = ARMS[config.arm].with_anchors(config.anchors)
    world_model = load_world_model(config)
    with closing(make_envs(config, _TRAINING_STATES, policy)) as simulators:
        counting = SuccessCount(simulators)
        envs = stack(counting, arm, world_model, config.seed, frames=config.frames)
        learner = _learner(config, folder, policy, envs)
        recorder = _Recorder(folder, counting)
        keep = CheckpointCallback(folder / "checkpoint.pt", config.checkpoint_every)
        learner.learn(config.steps, CallbackList([DiagnosticsCallback(), recorder, keep]))


def _learner(config: LiberoConfig, folder: Path, policy: VLAPolicy, envs: VectorEnv) -> GRPO:
    checkpoint = folder / "checkpoint.pt"
    if not checkpoint.exists():
        keep_until(folder / "steps.jsonl", 0)
        return GRPO(policy, envs, tensorboard_log=folder, **_settings(config))
    try:
        learner = GRPO.load(checkpoint, policy=policy, envs=envs, tensorboard_log=folder)
    except ValueError as error:
        raise SettingsError(f"{checkpoint} cannot be resumed: {error}") from error
    keep_until(folder / "steps.jsonl", learner.step)
    return learner


def _settings(config: LiberoConfig) -> dict[str, Any]:
    return {
        "group_size": config.group_size,
        "learning_rate": config.learning_rate,
        "inner_epochs": config.inner_epochs,
        "kl_coef": config.kl_coef,
        "token_budget": 16384,
        "seed": config.seed,
        "loss_normalization": "token",
    }


class _Recorder(BaseCallback):
    """Writes a line a step: the learner's scalars, and the success of the rollouts."""

    def __init__(self, folder: Path, counting: SuccessCount) -> None:
        self._folder, self._counting = folder, counting

    def on_step(self) -> bool:
        self.model.log({"rollout/success": self._counting.rate})
        record = {"step": self.model.step, **self.model.history[-1]}
        append_line(self._folder / "steps.jsonl", record)
        return True


def _evaluate(config: LiberoConfig, policy: VLAPolicy, folder: Path) -> None:
    table = measure_success(
        policy,
        lambda states: make_envs(config, states, policy),
        config.splits,
        config.rollouts,
        folder / "episodes",
    )
    write_record(folder / "evaluation.json", table.record())
