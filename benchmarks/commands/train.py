"""``wmrl train``: trainings with a run folder that can be resumed."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Console
from tyro.conf import Positional, subcommand

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.presets import preset
from wmrl_envs.benchmarks.commands.base import (
    UsageError,
    setting_errors,
    stopped_by_signals,
    usage_errors,
)
from wmrl_envs.benchmarks.commands.config_file import Given, as_yaml
from wmrl_envs.benchmarks.commands.train_libero import TrainLibero

if TYPE_CHECKING:
    from wmrl_envs.agents.callbacks import BaseCallback

__all__ = ["TRAINERS", "Train", "TrainAutoResearch"]


@dataclass(frozen=True)
class TrainAutoResearch:
    """Train a language model to solve machine-learning tasks, under one reward arm.

    The run folder holds the settings, the execution log, a line a step, the evaluations,
    TensorBoard events, the checkpoint and the trained policy. Called again, a killed or
    interrupted run goes on from its last checkpoint, bit for bit; Ctrl-C keeps the last step.
    """

    out: Positional[Path]
    """The run folder."""
    config: Path | None = None
    """A YAML file of options, such as a run folder's `config.yaml`; the command line overrides."""
    print_config: bool = False
    """Print all options as YAML and end."""
    quick: bool = False
    """Settings of a run of minutes, which shows that everything works."""
    log: Path | None = None
    """A folder with an execution log (see `wmrl collect`); none: execute an own one."""
    track: Literal["wandb", "trackio"] | None = None
    """Log to Weights & Biases or trackio as well, where it is installed."""
    project: str = "wmrl"
    """The tracker's project; the run is named after its folder."""
    results: Path | None = None
    """A folder for `results.json` and `table.md` of the finished run."""
    settings: RunConfig = field(default_factory=RunConfig)
    """The settings of the run."""

    @staticmethod
    def preset(given: Given) -> dict[str, Any]:
        """Settings that suit the policy."""
        policy = given("policy") or RunConfig().policy
        return preset(policy, bool(given("quick")))

    def run(self, console: Console) -> int:
        """Trains behind a progress bar."""
        if self.print_config:
            console.print(as_yaml(self), end="", markup=False, highlight=False, soft_wrap=True)
            return 0
        from wmrl_envs.benchmarks.autoresearch.progress import follow_in_thread
        from wmrl_envs.benchmarks.autoresearch.run_results import write_run_results
        from wmrl_envs.benchmarks.autoresearch.train import check_run, train

        with usage_errors():
            check_run(self.settings, self.out, self.log)
        callbacks = self._trackers()
        bars = {self.settings.arm: self.out}
        with ExitStack() as around:
            around.enter_context(setting_errors())
            around.enter_context(stopped_by_signals())
            around.enter_context(follow_in_thread(console, bars, self.settings.steps))
            train(self.settings, self.out, self.log, callbacks)
        if self.results is not None:
            write_run_results(self.out, self.results, sys.argv[1:])
        console.print(f"Wrote {self.out}", markup=False, highlight=False, soft_wrap=True)
        return 0

    def _trackers(self) -> "tuple[BaseCallback, ...]":
        if self.track is None:
            return ()
        from wmrl_envs.agents.tracking import TrackingCallback

        name = self.out.resolve().name
        try:
            return (TrackingCallback(self.track, self.project, name, asdict(self.settings)),)
        except ImportError as error:
            raise UsageError(f"--track {self.track}: {error}") from error


@dataclass(frozen=True)
class ResumeAutoResearch:
    """Go on with the run of a folder that `wmrl train autoresearch` made, with its settings."""

    out: Positional[Path]
    """The run folder."""
    log: Path | None = None
    """The folder with the execution log that the run was started with, if there was one."""
    track: Literal["wandb", "trackio"] | None = None
    """Log to Weights & Biases or trackio as well, where it is installed."""
    project: str = "wmrl"
    """The tracker's project; the run is named after its folder."""

    def run(self, console: Console) -> int:
        """Trains from the last checkpoint on."""
        with usage_errors():
            settings = RunConfig.read(self.out / "config.json")
        command = TrainAutoResearch(
            self.out, log=self.log, track=self.track, project=self.project, settings=settings
        )
        return command.run(console)


TRAINERS: Mapping[tuple[str, ...], type[Any]] = {
    ("train", "autoresearch"): TrainAutoResearch,
    ("train", "libero"): TrainLibero,
}
"""The trainings whose options may come from a file, by the words that call them."""


@dataclass(frozen=True)
class Train:
    """Train a policy; each training leaves a run folder that can be resumed."""

    command: (
        Annotated[TrainAutoResearch, subcommand("autoresearch")]
        | Annotated[TrainLibero, subcommand("libero")]
        | Annotated[ResumeAutoResearch, subcommand("resume")]
    )

    def run(self, console: Console) -> int:
        """Runs the chosen training."""
        return self.command.run(console)
