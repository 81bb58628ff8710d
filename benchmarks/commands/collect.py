"""``wmrl collect``: the execution log that a world model learns from."""

from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from wmrl_envs.benchmarks.autoresearch.config import RunConfig

__all__ = ["Collect"]


@dataclass(frozen=True)
class Collect:
    """Execute solutions of the starting policy and write them as an execution log.

    One log can serve several arms: `wmrl train autoresearch OUT --log FOLDER`.
    """

    out: Positional[Path]
    """The folder for log.jsonl and log_costs.json."""
    config: RunConfig = field(default_factory=RunConfig)
    """The settings; tasks, policy, sandbox, seed and log-episodes count here."""

    def run(self, console: Console) -> int:
        """Executes and writes."""
        import torch

        from wmrl_envs.benchmarks.autoresearch.setup import collect_log

        torch.set_num_threads(self.config.threads)
        with console.status(f"executing {self.config.log_episodes} solutions"):
            collect_log(self.config, self.out, self.config.log_episodes)
        console.print(f"Wrote {self.out / 'log.jsonl'}", highlight=False)
        return 0
