"""Builds the parts of a run: sandbox, environments, policy, world model."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import torch
from gymnasium.vector import VectorEnv

from wmrl_envs.agents.embedded.policy import embedded_policy
from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
from wmrl_envs.agents.rollout import collect
from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.records import Costs, write_costs
from wmrl_envs.wrappers.world_models.base import Episode, Prediction
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


def make_envs(config: RunConfig, tasks: Sequence[str], num_envs: int, sandbox: Sandbox) -> VectorEnv:
    """AutoResearch environments on some tasks, shown as the policy reads them."""
    return gym.make_vec(
        "wmrl_envs:WMRL/AutoResearch-v0",
        num_envs=num_envs,
        tasks=list(tasks),
        observation="card" if config.policy == "embedded" else "overview",
        feedback="none",
        sandbox=sandbox,
    )


def make_policy(config: RunConfig) -> LanguageModelPolicy:
    """The policy at its start."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    if config.policy == "embedded":
        return embedded_policy()
    return LanguageModelPolicy.from_pretrained(config.policy)


def collect_log(config: RunConfig, folder: Path, episodes: int) -> None:
    """Executes episodes of the starting policy and writes them as an execution log.

    Args:
        config: The run's settings; tasks, policy, sandbox and seed count here.
        folder: Where ``log.jsonl`` and ``log_costs.json`` go.
        episodes: The number of episodes.
    """
    sandbox = make_sandbox(config)
    num_envs = min(episodes, _LARGEST_BATCH)
    envs = make_envs(config, config.train_tasks, num_envs, sandbox)
    policy = make_policy(config)
    generator = torch.Generator().manual_seed(_LOG_SEEDS + config.seed)
    logged: list[LoggedEpisode] = []
    generation = 0.0
    try:
        while len(logged) < episodes:
            first = _LOG_SEEDS + config.seed * 100_000 + len(logged)
            rollout = collect(policy, envs, range(first, first + num_envs), generator=generator)
            generation += rollout.generation.cpu
            logged += logged_episodes(rollout)
    finally:
        envs.close()
        sandbox.close()
    write_log(folder / "log.jsonl", logged[:episodes])
    metrics = envs.unwrapped.metrics()
    spent = Costs(metrics["executions"], metrics["execution_cpu_s"], 0.0, generation)
    write_costs(folder / "log_costs.json", spent.scaled(episodes / len(logged)), episodes)


def logged_episodes(rollout: Any) -> list[LoggedEpisode]:
    """The measured episodes of a rollout, as entries of an execution log."""
    return [
        LoggedEpisode(rollout.tasks[i], tuple(rollout.actions(i)), float(measured), rollout.statuses[i])
        for i, measured in enumerate(rollout.measured)
        if measured == measured
    ]


class TimedWorldModel:
    """Counts the CPU seconds of a world model's fits and predictions.

    Args:
        folder: The folder of the execution log.
        episodes: How many of its episodes to learn from.
        seed: The world model's seed.
    """

    def __init__(self, folder: Path, episodes: int, seed: int) -> None:
        self.cpu_seconds = 0.0
        self.log = read_log(folder / "log.jsonl")[:episodes]
        self._model = self._timed(RegressionWorldModel(seed=seed).fit, self.log)
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

