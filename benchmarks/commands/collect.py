"""``wmrl collect``: the execution log that a world model learns from."""

from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.commands.base import setting_errors, stopped_by_signals

__all__ = ["Collect"]


@dataclass(frozen=True)
class Collect:
    """Execute solutions of the starting policy and write them as an execution log.

    One log can serve several arms: `wmrl train autoresearch OUT --log FOLDER`.
    """

    out: Positional[Path]
    """The folder for log.jsonl, log_costs.json and config.json."""
    config: RunConfig = field(default_factory=RunConfig)
    """The settings; tasks, policy, sandbox, seed and log-episodes count here."""

    def run(self, console: Console) -> int:
        """Executes and writes."""
        import torch

        from wmrl_envs.benchmarks.autoresearch.setup import check_tasks, collect_log

        torch.set_num_threads(self.config.threads)
        working = f"executing {self.config.log_episodes} solutions"
        with setting_errors(), stopped_by_signals(), console.status(working):
            check_tasks(self.config)
            collect_log(self.config, self.out, self.config.log_episodes)
        self.config.write(self.out / "config.json")
        written = self.out / "log.jsonl"
        console.print(f"Wrote {written}", markup=False, highlight=False, soft_wrap=True)
        return 0
