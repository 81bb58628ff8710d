"""``wmrl world-model``: how good a world model is, and what it costs."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from tyro.conf import Positional, subcommand

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.commands.base import (
    UsageError,
    setting_errors,
    stopped_by_signals,
    usage_errors,
)
from wmrl_envs.benchmarks.commands.train_world_model import TrainWorldModel

if TYPE_CHECKING:
    from wmrl_envs.benchmarks.world_models.evaluation import Evaluation
    from wmrl_envs.wrappers.world_models.base import WorldModel
    from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode

__all__ = ["WorldModelGroup"]

_REGRESSION = "regression"
_LIVE_SEEDS = 10_000
"""Added to the seed of live episodes, so that they are not those of a log of the same seed."""


@dataclass(frozen=True)
class Evaluate:
    """Measure a world model against executed episodes, and its drift along a training run.

    The regression learns from one part of the log and is asked about the rest; a saved model, or a
    `module:Name`, is asked about all of it. With --live, the episodes it is asked about are
    executed now, and the regression learns from the whole log. Of a run folder, the fidelity at
    each of its evaluations is printed too.
    """

    source: Positional[Path]
    """A log (JSON Lines), a folder with one (`wmrl collect`), or a run folder (`wmrl train`)."""
    world_model: str = _REGRESSION
    """`regression`, the folder of a saved one, or `module:Name` of a world model."""
    kwargs: str = "{}"
    """Arguments for the class of a `module:Name`, as JSON."""
    held_out: float = 0.25
    """Share of the log that the regression does not learn from."""
    live: int = 0
    """Execute so many new episodes of the policy, and ask about these."""
    batch: int = 256
    """Episodes that the model is asked about at once."""
    out: Path | None = None
    """Write fidelity.json, calibration.png and, of a run folder, drift.png into this folder."""
    config: RunConfig = field(default_factory=RunConfig)
    """The settings; seed counts here and, with --live, tasks, policy and sandbox."""

    def run(self, console: Console) -> int:
        """Prints the tables and writes the files."""
        from wmrl_envs.benchmarks.world_models.drift import drift

        points = drift(self.source) if self.source.is_dir() else []
        record: dict[str, Any] = {"source": str(self.source), "world_model": self.world_model}
        log = _log_file(self.source)
        if log.exists() or not points:
            self._evaluate(log, console, record)
        if points:
            self._show_drift(points, console, record)
        if self.out is not None:
            from wmrl_envs.benchmarks.autoresearch.records import write_record

            write_record(self.out / "fidelity.json", record)
            console.print(f"Wrote {self.out}", markup=False, highlight=False, soft_wrap=True)
        return 0

    def _evaluate(self, log: Path, console: Console, record: dict[str, Any]) -> None:
        from wmrl_envs.benchmarks.world_models.tables import evaluation_tables

        with self._asked(log, console) as (model, asked, costs):
            evaluation = _measured(model, asked, self.batch, costs)
        title = f"{self.world_model} against {'live execution' if self.live else log}"
        for table in evaluation_tables(evaluation, title):
            console.print(table)
        record |= evaluation.record()
        if self.out is not None:
            from wmrl_envs.benchmarks.world_models.plots import draw_calibration

            draw_calibration(evaluation.curve, self.world_model, self.out / "calibration.png")

    @contextmanager
    def _asked(
        self, path: Path, console: Console
    ) -> "Iterator[tuple[WorldModel, list[LoggedEpisode], Path]]":
        """The model, the episodes that it is asked about, and the folder that has their costs."""
        from wmrl_envs.wrappers.world_models.execution_log import read_log

        with usage_errors():
            log = read_log(path)
            if self.live < 0 or self.batch < 1:
                raise ValueError(
                    f"live must not be negative and batch at least 1, got {self.live!r} and "
                    f"{self.batch!r}"
                )
        if not self.live:
            yield (*self._model_and_rest(log), path.parent)
            return
        with tempfile.TemporaryDirectory() as folder:
            self._execute(Path(folder), console)
            with usage_errors():
                model = self._model(log)
            yield model, read_log(Path(folder) / "log.jsonl"), Path(folder)

    def _model_and_rest(
        self, log: "list[LoggedEpisode]"
    ) -> "tuple[WorldModel, list[LoggedEpisode]]":
        from wmrl_envs.benchmarks.world_models.evaluation import held_out_split

        with usage_errors():
            if self.world_model != _REGRESSION:
                return self._model(log), log
            learned, rest = held_out_split(log, self.held_out, self.config.seed)
            return self._model(learned), rest

    def _model(self, log: "list[LoggedEpisode]") -> "WorldModel":
        from wmrl_envs.wrappers.predictions import load_world_model
        from wmrl_envs.wrappers.world_models.regression import RegressionWorldModel

        if self.world_model == _REGRESSION:
            return RegressionWorldModel(seed=self.config.seed).fit(log)
        if ":" not in self.world_model:
            return RegressionWorldModel.load(self.world_model)
        return load_world_model(self.world_model, json.loads(self.kwargs))

    def _execute(self, folder: Path, console: Console) -> None:
        import torch

        from wmrl_envs.benchmarks.autoresearch.setup import check_tasks, collect_log

        torch.set_num_threads(self.config.threads)
        config = self.config.with_(seed=self.config.seed + _LIVE_SEEDS)
        working = f"executing {self.live} solutions"
        with setting_errors(), stopped_by_signals(), console.status(working):
            check_tasks(config)
            collect_log(config, folder, self.live)

    def _show_drift(self, points: Any, console: Console, record: dict[str, Any]) -> None:
        from wmrl_envs.benchmarks.world_models.plots import draw_drift
        from wmrl_envs.benchmarks.world_models.tables import drift_table

        console.print(drift_table(points, f"fidelity along {self.source}"))
        record["drift"] = [point.record() for point in points]
        if self.out is not None:
            draw_drift(points, self.out / "drift.png")


def _measured(
    model: "WorldModel", asked: "list[LoggedEpisode]", batch: int, folder: Path
) -> "Evaluation":
    from wmrl_envs.benchmarks.world_models.evaluation import evaluate_world_model

    if not asked:
        raise UsageError("the log holds no episodes")
    return evaluate_world_model(model, asked, batch=batch, execution_cpu_s=_execution_cpu_s(folder))


def _execution_cpu_s(folder: Path) -> float | None:
    """CPU seconds of an execution of the log in this folder; None where nobody noted them."""
    from wmrl_envs.benchmarks.autoresearch.records import read_costs

    try:
        costs, _ = read_costs(folder / "log_costs.json")
    except (OSError, ValueError):
        return None
    return costs.execution / costs.executions if costs.executions else None


@dataclass(frozen=True)
class Fit:
    """Fit the regression on an execution log and save it."""

    source: Positional[Path]
    """A log (JSON Lines), or a folder with one (`wmrl collect`)."""
    out: Positional[Path]
    """The folder for the model; `RegressionWorldModel.load` and `evaluate` read it."""
    seed: int = 0
    """The regression's seed."""

    def run(self, console: Console) -> int:
        """Fits and saves."""
        from wmrl_envs.wrappers.world_models.execution_log import read_log
        from wmrl_envs.wrappers.world_models.regression import RegressionWorldModel

        with usage_errors():
            log = read_log(_log_file(self.source))
            model = RegressionWorldModel(seed=self.seed).fit(log)
        model.save(self.out)
        console.print(f"Wrote {self.out}", markup=False, highlight=False, soft_wrap=True)
        return 0


def _log_file(source: Path) -> Path:
    return source / "log.jsonl" if source.is_dir() else source


@dataclass(frozen=True)
class WorldModelGroup:
    """Fit, train and evaluate what stands in for real execution."""

    command: (
        Annotated[Evaluate, subcommand("evaluate")]
        | Annotated[Fit, subcommand("fit")]
        | Annotated[TrainWorldModel, subcommand("train")]
    )

    def run(self, console: Console) -> int:
        """Runs the chosen command."""
        return self.command.run(console)
