"""Trains one arm and leaves a run folder behind."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import torch
from gymnasium.vector import VectorEnv

from wmrl_envs.agents.callbacks import BaseCallback, CallbackList
from wmrl_envs.agents.diagnostics import DiagnosticsCallback
from wmrl_envs.agents.grpo import GRPO
from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
from wmrl_envs.benchmarks.autoresearch.arms import ARMS, Arm, stack
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.evaluation import Evaluator
from wmrl_envs.benchmarks.autoresearch.recording import RecordedCheckpoint, Recorder
from wmrl_envs.benchmarks.autoresearch.records import (
    SettingsError,
    check_log,
    is_finished,
    keep_until,
)
from wmrl_envs.benchmarks.autoresearch.setup import (
    GradingModel,
    TimedWorldModel,
    check_tasks,
    collect_log,
    conversed,
    make_envs,
    make_policy,
    make_sandbox,
)
from wmrl_envs.benchmarks.run_folder import alone


def train(
    config: RunConfig,
    folder: Path,
    log_folder: Path | None = None,
    callbacks: Sequence[BaseCallback] = (),
) -> None:
    """Runs an arm to its last step.

    A folder with a checkpoint is resumed, and a finished one left as it is. A run that was killed
    and resumed ends with the weights and the lines, timings apart, of one that was not.

    Args:
        config: The settings; a resumed folder must have been made with the same.
        folder: The run folder.
        log_folder: A folder with the world model's execution log, to share one between arms; None
            executes an own one, where the arm has a world model.
        callbacks: Further ones, such as a tracker's; the run is recorded before they are called.

    Raises:
        SettingsError: The settings cannot be had, or are not those of the folder, or another
            process is training there.
        WMRLError: The sandbox fails, or there is nothing to learn from the log.
    """
    check_run(config, folder, log_folder)
    if is_finished(folder):
        return
    torch.set_num_threads(config.threads)
    policy = make_policy(config)
    with alone(folder):
        config.write(folder / "config.json")
        _run(config, policy, folder, log_folder, callbacks)


def _run(
    config: RunConfig,
    policy: LanguageModelPolicy,
    folder: Path,
    log_folder: Path | None,
    callbacks: Sequence[BaseCallback],
) -> None:
    arm = ARMS[config.arm].with_anchors(config.anchors)
    world_model = _world_model(config, arm, policy, folder, log_folder)
    with make_sandbox(config) as sandbox, ExitStack() as opened:
        executing = opened.enter_context(
            closing(make_envs(config, config.train_tasks, config.num_envs, sandbox))
        )
        evaluator = opened.enter_context(closing(Evaluator(config, sandbox)))
        envs = stack(executing, arm, world_model, config.seed)
        if world_model is not None:
            _start_correction(envs, world_model)
        learner = _learner(config, folder, policy, conversed(config, envs))
        recorder = Recorder(config, folder, envs, evaluator, world_model)
        keep = RecordedCheckpoint(folder / "checkpoint.pt", config.checkpoint_every, recorder)
        learner.learn(
            config.steps, CallbackList([recorder, DiagnosticsCallback(), keep, *callbacks])
        )
        _save(policy, folder)


def check_run(config: RunConfig, folder: Path, log_folder: Path | None) -> None:
    """Checks that a run can be started, or resumed, in a folder.

    Raises:
        SettingsError: The folder was made with other settings, a task is unknown, or
            ``log_folder`` holds no execution log, or one that is too short.
    """
    config.check_same(folder / "config.json")
    check_tasks(config)
    if log_folder is not None and ARMS[config.arm].world_model:
        check_log(log_folder, config.log_episodes)


def _save(policy: LanguageModelPolicy, folder: Path) -> None:
    """Writes the policy so that its folder, which marks the end of the run, is whole."""
    partial = folder / "policy.partial"
    policy.save(partial)
    partial.rename(folder / "policy")


def _world_model(
    config: RunConfig,
    arm: Arm,
    policy: LanguageModelPolicy,
    folder: Path,
    log_folder: Path | None,
) -> GradingModel | None:
    if not arm.world_model:
        return None
    if log_folder is None:
        log_folder = folder
        if not (folder / "log_costs.json").exists():
            collect_log(config, folder, config.log_episodes)
    if config.world_model == "policy":
        return _self_grading(config, policy, log_folder)
    return TimedWorldModel(log_folder, config.log_episodes, config.seed)


def _self_grading(config: RunConfig, policy: LanguageModelPolicy, folder: Path) -> GradingModel:
    from wmrl_envs.benchmarks.autoresearch.self_grading import SelfGrading

    try:
        return SelfGrading(policy, folder, config.log_episodes)
    except TypeError as error:
        raise SettingsError(
            f"world_model='policy' needs a policy with an adapter, got {config.policy!r}: {error}"
        ) from error


def _start_correction(envs: VectorEnv, world_model: GradingModel) -> None:
    """Starts the correction from out-of-fold pairs of the log; a checkpoint's state replaces it."""
    estimator = getattr(envs, "estimator", None)
    if estimator is not None and len(world_model.out_of_fold[0]):
        estimator.seed_pairs(*world_model.out_of_fold)


def _learner(config: RunConfig, folder: Path, policy: LanguageModelPolicy, envs: VectorEnv) -> GRPO:
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.exists():
        learner = _loaded(checkpoint, policy, envs)
    else:
        learner = GRPO(policy, envs, tensorboard_log=folder, **_settings(config))
    for name in ("steps.jsonl", "evaluations.jsonl", "anchors.jsonl"):
        keep_until(folder / name, learner.step)
    return learner


def _loaded(checkpoint: Path, policy: LanguageModelPolicy, envs: VectorEnv) -> GRPO:
    try:
        return GRPO.load(checkpoint, policy=policy, envs=envs, tensorboard_log=checkpoint.parent)
    except ValueError as error:
        raise SettingsError(f"{checkpoint} cannot be resumed: {error}") from error


def _settings(config: RunConfig) -> dict[str, Any]:
    return {
        "group_size": config.group_size,
        "learning_rate": config.learning_rate,
        "inner_epochs": config.inner_epochs,
        "kl_coef": config.kl_coef,
        "token_budget": 2048,
        "seed": config.seed,
        "loss_normalization": "constant",
    }
