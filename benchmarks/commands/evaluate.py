"""``wmrl eval``: the real scores of a policy, task by task."""

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.commands.base import setting_errors, stopped_by_signals

__all__ = ["Eval"]


@dataclass(frozen=True)
class Eval:
    """Execute a policy's solutions of training and held-out tasks and print the scores."""

    policy: Positional[str] = "embedded"
    """`embedded`, a run's `policy` folder, or a folder or Hub id of a causal language model."""
    config: RunConfig = field(default_factory=RunConfig)
    """The settings; tasks, final-episodes, sandbox and workers count here."""

    def run(self, console: Console) -> int:
        """Evaluates and prints one row a task."""
        import torch

        from wmrl_envs.benchmarks.autoresearch.evaluation import Evaluator
        from wmrl_envs.benchmarks.autoresearch.setup import (
            check_tasks,
            make_policy,
            make_sandbox,
        )

        torch.set_num_threads(self.config.threads)
        # `--policy` is an option of every configuration.
        chosen = self.config.policy if self.policy == "embedded" else self.policy
        config = self.config.with_(policy=chosen)
        with setting_errors(), stopped_by_signals(), make_sandbox(config) as sandbox:
            check_tasks(config)
            policy = make_policy(config)
            with closing(Evaluator(config, sandbox)) as evaluator, console.status("executing"):
                results = evaluator(policy, config.final_episodes, None, None)
        for split, title in (("train", "training tasks"), ("test", "held-out tasks")):
            console.print(_table(title, results[split]))
        return 0


def _table(title: str, episodes: list[dict[str, Any]]) -> Table:
    table = Table("task", "episodes", "reward", "percentile", "statuses", title=title)
    for task in sorted({episode["task"] for episode in episodes}):
        table.add_row(*_row(task, [e for e in episodes if e["task"] == task]))
    table.add_section()
    table.add_row(*_row("all", episodes))
    return table


def _row(name: str, episodes: list[dict[str, Any]]) -> tuple[str, ...]:
    statuses = Counter(episode["status"] for episode in episodes).most_common()
    return (
        name,
        str(len(episodes)),
        _mean([episode["reward"] for episode in episodes]),
        _mean([episode["position"] for episode in episodes]),
        ", ".join(f"{status} {count}" for status, count in statuses),
    )


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.3f}" if values else "not graded"
