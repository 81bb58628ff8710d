"""``wmrl train``: one reward arm, with a run folder that can be resumed."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, subcommand

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.commands.base import setting_errors, stopped_by_signals, usage_errors
from wmrl_envs.benchmarks.commands.train_libero import TrainLibero

__all__ = ["Train"]


@dataclass(frozen=True)
class TrainAutoResearch:
    """Train a language model to solve machine-learning tasks, under one reward arm.

    The run folder holds the settings, the execution log, a line a step, the evaluations,
    TensorBoard events, the checkpoint and the trained policy. Called again, a killed run goes on
    from its last checkpoint.
    """

    out: Positional[Path]
    """The run folder."""
    log: Path | None = None
    """A folder with an execution log (see `wmrl collect`); none: execute an own one."""
    config: RunConfig = field(default_factory=RunConfig)
    """The settings of the run."""

    def run(self, console: Console) -> int:
        """Trains behind a progress bar."""
        from wmrl_envs.benchmarks.autoresearch.progress import follow_in_thread
        from wmrl_envs.benchmarks.autoresearch.train import check_run, train

        with usage_errors():
            check_run(self.config, self.out, self.log)
        bars = {self.config.arm: self.out}
        with (
            setting_errors(),
            stopped_by_signals(),
            follow_in_thread(console, bars, self.config.steps),
        ):
            train(self.config, self.out, self.log)
        console.print(f"Wrote {self.out}", markup=False, highlight=False, soft_wrap=True)
        return 0


@dataclass(frozen=True)
class Train:
    """Train an agent under one reward arm."""

    command: (
        Annotated[TrainAutoResearch, subcommand("autoresearch")]
        | Annotated[TrainLibero, subcommand("libero")]
    )

    def run(self, console: Console) -> int:
        """Trains what was chosen."""
        return self.command.run(console)
