"""``wmrl demo``: the main job on embedded defaults, three arms side by side."""

import json
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from wmrl_envs.benchmarks.autoresearch.config import RunConfig, SandboxKind
from wmrl_envs.benchmarks.autoresearch.records import replace_file, write_record
from wmrl_envs.benchmarks.commands.base import UsageError, stopped_by_signals, usage_errors

if TYPE_CHECKING:
    from wmrl_envs.benchmarks.autoresearch.compare import Job
    from wmrl_envs.benchmarks.autoresearch.summary import ArmResult, Run

__all__ = ["Demo"]

_ARMS = ("wmrl", "anchors", "world-model")
_SCORES = 3
"""Columns of the table that hold scores; they come last."""
_COMPARED = ("real", *_ARMS, "mixture", "rectified", "denoise", "debias")


@dataclass(frozen=True)
class Demo:
    """A small language model learns to solve machine-learning tasks; three reward arms, one table.

    From one start and with equal executions: real execution of the anchor groups alone, the pure
    world model, and WMRL (a world model that a tenth of the groups corrects). Everything that is
    made lies in the run folder; called again on it, an interrupted demo goes on.
    """

    out: Path | None = None
    """The run folder; none: runs/demo-<date>-<time>."""
    compare: bool = False
    """Also: real execution of everything, the uncorrected mixture, each correction alone and both
    as in the paper."""
    arms: tuple[str, ...] = ()
    """The arms to run; none: the three, or with `--compare` all."""
    seeds: int = 1
    """Number of seeds."""
    first_seed: int = 0
    """The first of them."""
    steps: int = RunConfig.steps
    """Updates of the policy."""
    anchors: float = RunConfig.anchors
    """Fraction of the groups that WMRL executes."""
    refit_every: int = RunConfig.refit_every
    """Steps between refits of the world model on the anchors (0: never)."""
    sandbox: SandboxKind = "warm"
    """`cold`: every execution pays for its imports, as a fresh interpreter does."""
    processes: int = 2
    """Arms that train at once."""

    def run(self, console: Console) -> int:
        """Trains the arms, then prints the table and draws the plots."""
        from wmrl_envs.benchmarks.autoresearch.compare import JobFailed

        root = self.out or Path("runs") / f"demo-{datetime.now():%Y%m%d-%H%M%S}"
        with usage_errors():
            jobs = self._prepare(root)
        console.print(f"Run folder: {root}", markup=False, highlight=False, soft_wrap=True)
        if jobs:
            console.print(
                "First the starting policy's solutions are executed for the world model to learn "
                "from; then the arms train."
            )
        try:
            with stopped_by_signals():
                self._train(console, jobs, root)
        except JobFailed as error:
            raise UsageError(str(error)) from error
        self._report(console, root)
        return 0

    @property
    def _arms(self) -> tuple[str, ...]:
        return self.arms or (_COMPARED if self.compare else _ARMS)

    @property
    def _seeds(self) -> range:
        return range(self.first_seed, self.first_seed + self.seeds)

    def _prepare(self, root: Path) -> "list[Job]":
        """Checks and writes the settings; the jobs that are left to do."""
        from wmrl_envs.benchmarks.autoresearch.compare import comparison

        for name in ("seeds", "processes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        if len(set(self._arms)) < len(self._arms):
            raise ValueError(f"arms must not repeat an arm, got {self._arms!r}")
        base = RunConfig(
            steps=self.steps,
            anchors=self.anchors,
            refit_every=self.refit_every,
            sandbox=self.sandbox,
        )
        base.check_same(root / "config.json")
        jobs = comparison(base, self._arms, self._seeds, root)
        base.write(root / "config.json")
        command = {"argv": sys.argv[1:], **vars(self), "out": str(root)}
        write_record(root / "command.json", command)
        return jobs

    def _train(self, console: Console, jobs: "list[Job]", root: Path) -> None:
        from wmrl_envs.benchmarks.autoresearch.compare import arm_folder, run_jobs, run_name
        from wmrl_envs.benchmarks.autoresearch.progress import RunProgress

        folders = {
            run_name(arm, seed): arm_folder(root, arm, seed)
            for seed in self._seeds
            for arm in self._arms
        }
        with (
            RunProgress(console, folders, self.steps) as progress,
            closing(run_jobs(jobs, self.processes)) as running,
        ):
            for _ in running:
                progress.refresh()

    def _report(self, console: Console, root: Path) -> None:
        from wmrl_envs.benchmarks.autoresearch.equal_cost import at_equal_cost
        from wmrl_envs.benchmarks.autoresearch.plots import draw_all
        from wmrl_envs.benchmarks.autoresearch.results import results_record
        from wmrl_envs.benchmarks.autoresearch.summary import ArmResult, markdown, verdict

        runs = {arm: self._runs(arm, root) for arm in self._arms}
        results = [ArmResult.of(arm_runs) for arm_runs in runs.values()]
        said = verdict(results)
        if "real" in runs:
            compared = [result for arm, result in zip(runs, results, strict=True) if arm != "real"]
            said += "".join(
                f"\n{line}" for r in compared for line in at_equal_cost(runs["real"], r)
            )
        replace_file(root / "table.md", markdown(results) + "\n" + said + "\n")
        record = results_record(runs, json.loads((root / "command.json").read_text())["argv"])
        write_record(root / "results.json", record)
        for table in _tables(results):
            console.print(table)
        console.print(said, markup=False, highlight=False)
        for path in draw_all(runs, root):
            console.print(f"  {path}", markup=False, highlight=False, soft_wrap=True)

    def _runs(self, arm: str, root: Path) -> "list[Run]":
        from wmrl_envs.benchmarks.autoresearch.compare import arm_folder, log_folder
        from wmrl_envs.benchmarks.autoresearch.summary import Run

        return [
            Run.read(arm_folder(root, arm, seed), log_folder(root, seed)) for seed in self._seeds
        ]


def _tables(results: "list[ArmResult]") -> "tuple[Table, Table]":
    """What the arms cost and what they came to; each fits a terminal of 80 columns."""
    from wmrl_envs.benchmarks.autoresearch.summary import HEADINGS, rows

    costs = Table(
        *HEADINGS[:-_SCORES], title="costs: executions and CPU seconds", box=box.SIMPLE_HEAD
    )
    scores = Table(
        HEADINGS[0],
        *HEADINGS[-_SCORES:],
        title="mean ladder reward, percentile, 95 % intervals",
        box=box.SIMPLE_HEAD,
    )
    for row in rows(results):
        costs.add_row(*row[:-_SCORES])
        scores.add_row(row[0], *row[-_SCORES:])
    return costs, scores
