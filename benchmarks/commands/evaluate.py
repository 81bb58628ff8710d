"""``wmrl eval``: the real scores of a policy, task by task."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.commands.base import usage_errors

__all__ = ["Eval"]


@dataclass(frozen=True)
class Eval:
    """Execute solutions of a policy on the training and the held-out tasks and print the scores."""

    policy: Positional[str] = "embedded"
    """`embedded`, the `policy` folder of a run, or a folder or Hub id of a causal language model."""
    config: RunConfig = field(default_factory=RunConfig)
    """The settings; tasks, final-episodes, sandbox and workers count here."""

    def run(self, console: Console) -> int:
        """Evaluates and prints one row a task."""
        import torch

        from wmrl_envs.benchmarks.autoresearch.evaluation import Evaluator
        from wmrl_envs.benchmarks.autoresearch.setup import make_policy, make_sandbox

        torch.set_num_threads(self.config.threads)
        config = self.config.with_(policy=self.policy)
        with usage_errors():
            policy = make_policy(config)
        with make_sandbox(config) as sandbox, console.status("executing"):
            evaluator = Evaluator(config, sandbox)
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
        f"{np.mean([e['reward'] for e in episodes]):.3f}",
        f"{np.mean([e['position'] for e in episodes]):.3f}",
        ", ".join(f"{status} {count}" for status, count in statuses),
    )
