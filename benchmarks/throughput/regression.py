"""Grades by the regression world model beside grades by warm execution."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from wmrl_envs.agents.policies.base import TokenPolicy
from wmrl_envs.agents.rollout import collect
from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.setup import (
    execution_costs,
    logged_episodes,
    make_envs,
    make_policy,
    make_sandbox,
)
from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Cost, Samples, interleave
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode
from wmrl_envs.wrappers.world_models.fidelity import Fidelity, fidelity
from wmrl_envs.wrappers.world_models.regression import RegressionWorldModel

__all__ = ["compare_regression"]

_EXECUTION, _REGRESSION = "warm execution", "regression"
_FIRST_SEED = 700_000_000


class _Stream:
    """Ever new episodes of the starting policy, executed batch by batch.

    Attributes:
        batches: The measured episodes of each batch so far.
    """

    def __init__(self, policy: TokenPolicy, sandbox: Sandbox, config: RunConfig, size: int) -> None:
        self.batches: list[list[LoggedEpisode]] = []
        self._policy, self._size, self._config = policy, size, config
        self._sandbox = sandbox
        self._generator = torch.Generator().manual_seed(config.seed)

    def execute(self) -> Cost:
        """Executes a batch; what it costs is the programs' own CPU time, no sampling."""
        first = _FIRST_SEED + len(self.batches) * self._size
        envs = make_envs(self._config, self._config.train_tasks, self._size, self._sandbox)
        try:
            seeds = range(first, first + self._size)
            rollout = collect(self._policy, envs, seeds, generator=self._generator)
            spent = execution_costs(envs)
        finally:
            envs.close()
        self.batches.append(logged_episodes(rollout))
        return Cost(rollout.environment.wall, spent.execution, units=max(spent.executions, 1))


def compare_regression(
    log_batches: int, rounds: int, batch: int, command: Sequence[str]
) -> Comparison:
    """Executes batches and predicts them, in turns; none was seen before.

    Args:
        log_batches: Batches that the regression learns from before.
        rounds: Interleaved rounds.
        batch: Episodes of the embedded policy a batch, on the training tasks.
        command: The arguments after ``wmrl``, for the record.
    """
    torch.set_num_threads(1)
    config = RunConfig()
    with make_sandbox(config) as sandbox:
        stream = _Stream(make_policy(config), sandbox, config, batch)
        for _ in range(log_batches):
            stream.execute()
        log = [episode for episodes in stream.batches for episode in episodes]
        model = RegressionWorldModel(seed=config.seed).fit(log)
        # The first round's predictions are of a batch that is executed before it.
        stream.execute()
        calls = {_REGRESSION: _predicting(model, stream), _EXECUTION: stream.execute}
        samples = interleave(calls, rounds)
    fresh = [episode for episodes in stream.batches[log_batches:] for episode in episodes]
    return _comparison(samples, len(log), _agreement(model, fresh), rounds, command)


def _predicting(model: RegressionWorldModel, stream: _Stream) -> Callable[[], Cost]:
    def predict() -> Cost:
        episodes = [logged.episode for logged in stream.batches[-1]]
        wall, cpu = time.perf_counter(), time.process_time()
        model.predict(episodes)
        return Cost(time.perf_counter() - wall, time.process_time() - cpu, units=len(episodes))

    return predict


def _agreement(model: RegressionWorldModel, fresh: Sequence[LoggedEpisode]) -> Fidelity:
    predictions = model.predict([logged.episode for logged in fresh])
    known = [(p.reward, e) for p, e in zip(predictions, fresh, strict=True) if p.reward is not None]
    measured = [episode.reward for _, episode in known]
    return fidelity([reward for reward, _ in known], measured, [e.task for _, e in known])


def _comparison(
    samples: dict[str, Samples], learned: int, found: Fidelity, rounds: int, command: Sequence[str]
) -> Comparison:
    ratio = samples[_EXECUTION].cpu_per_unit / samples[_REGRESSION].cpu_per_unit
    rows = [
        (name, 1e3 * one.cpu_per_unit, 1 / one.cpu_per_unit, one.rate)
        for name, one in samples.items()
    ]
    figures: dict[str, Any] = {name: one.record() for name, one in samples.items()}
    return Comparison(
        title="Grades of new episodes of the embedded policy on the training tasks",
        columns=("graded by", "CPU ms a grade", "grades a CPU second", "grades a second"),
        rows=rows,
        findings=[
            f"The regression gives {ratio:.0f} times the grades of warm execution per CPU second.",
            f"Learned from {learned} executed episodes, it ranks {found.count} new ones with a "
            f"Spearman correlation of {_number(found.spearman)} (within a task "
            f"{_number(found.within_spearman)}), a mean absolute error of {found.mae:.3f} and a "
            f"bias of {found.bias:+.3f}.",
        ],
        record={
            **provenance(command),
            "rounds": rounds,
            "figures": figures,
            "cpu_ratio": ratio,
            "learned_from": learned,
            "fidelity": vars(found),
        },
    )


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
