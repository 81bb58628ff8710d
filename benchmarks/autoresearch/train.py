"""Trains one arm and leaves a run folder behind."""

from pathlib import Path
from typing import Any

import torch
from gymnasium.vector import VectorEnv

from wmrl_envs.agents.callbacks import CallbackList, CheckpointCallback
from wmrl_envs.agents.grpo import GRPO
from wmrl_envs.benchmarks.autoresearch.arms import ARMS, Arm, stack
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.evaluation import Evaluator
from wmrl_envs.benchmarks.autoresearch.recording import Recorder
from wmrl_envs.benchmarks.autoresearch.records import keep_until
from wmrl_envs.benchmarks.autoresearch.setup import (
    TimedWorldModel,
    collect_log,
    make_envs,
    make_policy,
    make_sandbox,
)


def train(config: RunConfig, folder: Path, log_folder: Path | None = None) -> None:
    """Runs an arm to its last step; a folder with a checkpoint is resumed.

    Args:
        config: The settings; a resumed folder must have been made with the same.
        folder: The run folder.
        log_folder: A folder with the world model's execution log, to share one between arms; None
            executes an own one, where the arm has a world model.

    Raises:
        ValueError: The folder was made with other settings.
        FileNotFoundError: ``log_folder`` holds no log.
    """
    torch.set_num_threads(config.threads)
    check_folder(config, folder, log_folder)
    config.write(folder / "config.json")
    arm = ARMS[config.arm].with_anchors(config.anchors)
    world_model = _world_model(config, arm, folder, log_folder)
    sandbox = make_sandbox(config)
    opened: list[VectorEnv] = []
    try:
        executing = make_envs(config, config.train_tasks, config.num_envs, sandbox)
        evaluator = Evaluator(config, sandbox)
        opened += [executing, *evaluator.envs.values()]
        envs = stack(executing, arm, world_model, config.seed)
        if world_model is not None:
            _start_correction(envs, world_model)
        learner = _learner(config, folder, envs)
        recorder = Recorder(config, folder, envs, evaluator, world_model)
        keep = CheckpointCallback(folder / "checkpoint.pt", config.checkpoint_every)
        learner.learn(config.steps, CallbackList([recorder, keep]))
        learner.policy.save(folder / "policy")
    finally:
        for env in opened:
            env.close()
        sandbox.close()


def check_folder(config: RunConfig, folder: Path, log_folder: Path | None) -> None:
    """Checks that a run can be started, or resumed, in a folder.

    Raises:
        ValueError: The folder was made with other settings.
        FileNotFoundError: ``log_folder`` holds no execution log.
    """
    path = folder / "config.json"
    if path.exists() and RunConfig.read(path) != config:
        raise ValueError(f"{folder} was made with other settings; resume it with those of {path}")
    if log_folder is not None and not (log_folder / "log_costs.json").exists():
        raise FileNotFoundError(f"log folder {log_folder} holds no log_costs.json")


def _world_model(
    config: RunConfig, arm: Arm, folder: Path, log_folder: Path | None
) -> TimedWorldModel | None:
    if not arm.world_model:
        return None
    if log_folder is None:
        log_folder = folder
        if not (folder / "log_costs.json").exists():
            collect_log(config, folder, config.log_episodes)
    return TimedWorldModel(log_folder, config.log_episodes, config.seed)


def _start_correction(envs: VectorEnv, world_model: TimedWorldModel) -> None:
    """Starts the correction from out-of-fold pairs of the log; a checkpoint's state replaces it."""
    estimator = getattr(envs, "estimator", None)
    if estimator is not None:
        estimator.seed_pairs(*world_model.out_of_fold)


def _learner(config: RunConfig, folder: Path, envs: VectorEnv) -> GRPO:
    policy, checkpoint = make_policy(config), folder / "checkpoint.pt"
    if checkpoint.exists():
        learner = GRPO.load(checkpoint, policy=policy, envs=envs, tensorboard_log=folder)
        for name in ("steps.jsonl", "evaluations.jsonl", "anchors.jsonl"):
            keep_until(folder / name, learner.step)
        return learner
    settings: dict[str, Any] = {
        "group_size": config.group_size,
        "learning_rate": config.learning_rate,
        "inner_epochs": config.inner_epochs,
        "kl_coef": config.kl_coef,
        "token_budget": 2048,
        "seed": config.seed,
        "loss_normalization": "constant",
    }
    return GRPO(policy, envs, tensorboard_log=folder, **settings)
