"""Builds the parts of a run: sandbox, environments, policy, world model."""

import importlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv

from wmrl_envs.agents.embedded.policy import WEIGHTS, embedded_policy, is_embedded
from wmrl_envs.agents.history import HistoryObservation
from wmrl_envs.agents.policies.adapters import with_lora
from wmrl_envs.agents.policies.chat import ChatPolicy
from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
from wmrl_envs.agents.rollout import Rollout, collect
from wmrl_envs.agents.smollm2.policy import ScaffoldPolicy, is_scaffold, smollm2_policy
from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.records import Costs, SettingsError, write_costs
from wmrl_envs.errors import SandboxError, WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction, WorldModel
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode, read_log, write_log
from wmrl_envs.wrappers.world_models.regression import RegressionWorldModel

_LOG_SEEDS = 500_000_000
"""Reset seeds of the log's episodes: apart from those of training and evaluation."""
_LARGEST_BATCH = 96


def make_sandbox(config: RunConfig) -> Sandbox:
    """The sandbox that every environment of the run shares."""
    if config.sandbox == "cold":
        return Sandbox(workers=config.workers, preload=())
    return Sandbox(workers=config.workers)


def make_envs(
    config: RunConfig, tasks: Sequence[str], num_envs: int, sandbox: Sandbox
) -> VectorEnv:
    """AutoResearch environments on some tasks, shown as the policy reads them."""
    return gym.make_vec(
        "wmrl_envs:WMRL/AutoResearch-v0",
        num_envs=num_envs,
        tasks=list(tasks),
        max_turns=config.turns,
        observation="card" if reads_cards(config) else "overview",
        feedback="full" if config.turns > 1 else "none",
        sandbox=sandbox,
    )


def conversed(config: RunConfig, envs: VectorEnv) -> VectorEnv:
    """Environments as a policy meets them: with the history of episodes of several turns."""
    return HistoryObservation(envs) if config.turns > 1 else envs


def make_policy(config: RunConfig) -> LanguageModelPolicy:
    """The policy at its start.

    Raises:
        SettingsError: There is no such model.
    """
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    try:
        if config.policy == "smollm2":
            return smollm2_policy(seed=config.seed)
        if is_scaffold(config.policy):
            return ScaffoldPolicy.load(config.policy)
        if reads_cards(config):
            return embedded_policy(WEIGHTS if config.policy == "embedded" else config.policy)
        return _conversing(config)
    except (ImportError, OSError, ValueError) as error:
        raise SettingsError(f"policy {config.policy!r} cannot be loaded: {error}") from error


def _conversing(config: RunConfig) -> ChatPolicy:
    checkpointing = config.gradient_checkpointing
    policy = ChatPolicy.from_pretrained(config.policy, gradient_checkpointing=checkpointing)
    if config.lora_rank:
        policy.model = with_lora(policy.model, config.lora_rank, config.seed)
    return policy


def reads_cards(config: RunConfig) -> bool:
    """True if the policy was made for the three-line cards instead of the overviews."""
    names = ("embedded", "smollm2")
    return config.policy in names or is_embedded(config.policy) or is_scaffold(config.policy)


def check_tasks(config: RunConfig) -> None:
    """Checks that all tasks exist.

    Raises:
        SettingsError: A name is unknown or repeated.
    """
    for name in ("train_tasks", "test_tasks"):
        try:
            catalog.resolve(list(getattr(config, name)))
        except ValueError as error:
            raise SettingsError(f"{name}: {error}") from error


def collect_log(config: RunConfig, folder: Path, episodes: int) -> None:
    """Executes episodes of the starting policy and writes them as an execution log.

    Args:
        config: The run's settings; tasks, policy, sandbox and seed count here.
        folder: Where ``log.jsonl`` and ``log_costs.json`` go; the latter comes last.
        episodes: The number of episodes; those that the sandbox fails on are replaced.

    Raises:
        SandboxError: The sandbox fails on everything.
        SettingsError: There is no such policy.
    """
    policy = make_policy(config)
    generator = torch.Generator().manual_seed(_LOG_SEEDS + config.seed)
    seed = _LOG_SEEDS + config.seed * 100_000
    logged, spent = list[LoggedEpisode](), Costs()
    with make_sandbox(config) as sandbox:
        while len(logged) < episodes:
            size = min(episodes - len(logged), _LARGEST_BATCH)
            envs = make_envs(config, config.train_tasks, size, sandbox)
            seeds = range(seed, seed + size)
            rollout = collect(policy, conversed(config, envs), seeds, generator=generator)
            spent += execution_costs(envs) + Costs(generation=rollout.generation.cpu)
            logged += _all_measured(rollout)
            seed += size
            envs.close()
    (folder / "log_costs.json").unlink(missing_ok=True)
    write_log(folder / "log.jsonl", logged)
    write_costs(folder / "log_costs.json", spent, episodes)


def _all_measured(rollout: Rollout) -> list[LoggedEpisode]:
    measured = logged_episodes(rollout)
    if not measured:
        raise SandboxError(f"the sandbox failed on all of {len(rollout)} programs in a row")
    return measured


def execution_costs(envs: VectorEnv) -> Costs:
    """What the executions of AutoResearch environments have cost so far."""
    executing: Any = envs.unwrapped
    metrics = executing.metrics()
    return Costs(metrics["executions"], metrics["execution_cpu_s"])


def logged_episodes(rollout: Rollout) -> list[LoggedEpisode]:
    """The measured episodes of a rollout, as entries of an execution log."""
    return [
        LoggedEpisode(
            rollout.tasks[i], tuple(rollout.actions(i)), float(measured), rollout.statuses[i]
        )
        for i, measured in enumerate(rollout.measured)
        if not np.isnan(measured)
    ]


class GradingModel(WorldModel, Protocol):
    """A world model that counts what it costs, as a run uses it.

    Attributes:
        cpu_seconds: The CPU seconds of its fits and predictions.
        out_of_fold: (N,) predictions and (N,) measured rewards of episodes that it did not learn
            from.
    """

    cpu_seconds: float
    out_of_fold: tuple[np.ndarray, np.ndarray]

    def refit(self, further: Sequence[LoggedEpisode]) -> None:
        """Learns from the log and further executed episodes."""
        ...


class TimedWorldModel:
    """Counts the CPU seconds of a world model's fits and predictions.

    Args:
        folder: The folder of the execution log.
        episodes: How many of its episodes to learn from.
        seed: The world model's seed.

    Attributes:
        cpu_seconds: The CPU seconds so far.
        log: The episodes of the log.
        out_of_fold: What :meth:`RegressionWorldModel.out_of_fold` returned for the log.

    Raises:
        WorldModelError: There is nothing to learn from the log.
    """

    def __init__(self, folder: Path, episodes: int, seed: int) -> None:
        # Its import is the program's cost, not the model's.
        importlib.import_module("sklearn.ensemble")
        self.cpu_seconds = 0.0
        path = folder / "log.jsonl"
        try:
            self.log = read_log(path)[:episodes]
            self._model = self._timed(RegressionWorldModel(seed=seed).fit, self.log)
        except ValueError as error:
            raise WorldModelError(f"the world model cannot learn from {path}: {error}") from error
        self.out_of_fold = self._timed(self._model.out_of_fold)

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order."""
        return self._timed(self._model.predict, episodes)

    def refit(self, further: Sequence[LoggedEpisode]) -> None:
        """Learns from the log and further executed episodes."""
        self._timed(self._model.fit, [*self.log, *further])

    def _timed(self, function: Any, *args: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args)
        finally:
            self.cpu_seconds += time.process_time() - start
