"""``wmrl demo``: the main job on embedded defaults, three arms side by side."""

import json
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from wmrl_envs.benchmarks.autoresearch.config import RunConfig, SandboxKind
from wmrl_envs.benchmarks.commands.base import UsageError

if TYPE_CHECKING:
    from wmrl_envs.benchmarks.autoresearch.summary import ArmResult, Run

__all__ = ["Demo"]

_ARMS = ("anchors", "world-model", "wmrl")
_COMPARED = ("real", *_ARMS, "mixture", "denoise", "debias", "paper")


@dataclass(frozen=True)
class Demo:
    """A small language model learns to solve machine-learning tasks; three reward arms, one table.

    From one start and with equal executions: real execution of the anchor groups alone, the pure world
    model, and WMRL (a world model that a tenth of the groups corrects). Everything that is made lies in
    the run folder; called again on it, an interrupted demo goes on.
    """

    out: Path | None = None
    """The run folder; none: runs/demo-<date>-<time>."""
    compare: bool = False
    """Also: real execution of everything, the uncorrected mixture, each correction alone and both as in
    the paper."""
    seeds: int = 1
    """Number of seeds, from 0."""
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

        if self.seeds < 1 or self.processes < 1:
            raise UsageError(f"seeds and processes must be at least 1, got {self.seeds}, {self.processes}")
        root = self.out or Path("runs") / f"demo-{datetime.now():%Y%m%d-%H%M%S}"
        try:
            base = RunConfig(
                steps=self.steps,
                anchors=self.anchors,
                refit_every=self.refit_every,
                sandbox=self.sandbox,
            )
            self._train(console, base, root)
        except (ValueError, JobFailed) as error:
            raise UsageError(str(error)) from error
        self._report(console, root)
        return 0

    @property
    def _arms(self) -> tuple[str, ...]:
        return _COMPARED if self.compare else _ARMS

    def _train(self, console: Console, base: RunConfig, root: Path) -> None:
        from wmrl_envs.benchmarks.autoresearch.compare import arm_folder, comparison, run_jobs
        from wmrl_envs.benchmarks.autoresearch.progress import RunProgress

        base.write(root / "config.json")
        command = {"argv": sys.argv[1:], **vars(self), "out": str(root)}
        (root / "command.json").write_text(json.dumps(command, indent=2) + "\n", encoding="utf-8")
        jobs = comparison(base, self._arms, range(self.seeds), root)
        console.print(
            f"Run folder: {root}\nFirst the starting policy's solutions are executed for the world model "
            "to learn from; then the arms train.",
            highlight=False,
        )
        folders = {
            f"{arm}, seed {seed}": arm_folder(root, arm, seed)
            for seed in range(self.seeds)
            for arm in self._arms
        }
        with RunProgress(console, folders, base.steps) as progress:
            for _ in run_jobs(jobs, self.processes):
                progress.refresh()

    def _report(self, console: Console, root: Path) -> None:
        from wmrl_envs.benchmarks.autoresearch.plots import draw_all
        from wmrl_envs.benchmarks.autoresearch.summary import ArmResult, markdown, verdict

        runs = {arm: self._runs(arm, root) for arm in self._arms}
        results = [ArmResult.of(arm_runs) for arm_runs in runs.values()]
        first = next(iter(runs.values()))[0].evaluations[0]["train"]
        start = sum(episode["reward"] for episode in first) / len(first)
        said = verdict(results, start)
        (root / "table.md").write_text(markdown(results) + "\n" + said + "\n", encoding="utf-8")
        console.print(_table(results))
        console.print(said, highlight=False)
        for path in draw_all(runs, root):
            console.print(f"  {path}", highlight=False)

    def _runs(self, arm: str, root: Path) -> "list[Run]":
        from wmrl_envs.benchmarks.autoresearch.compare import arm_folder, log_folder
        from wmrl_envs.benchmarks.autoresearch.summary import Run

        return [
            Run.read(arm_folder(root, arm, seed), log_folder(root, seed)) for seed in range(self.seeds)
        ]


def _table(results: "list[ArmResult]") -> Table:
    from wmrl_envs.benchmarks.autoresearch.summary import HEADINGS, rows

    table = Table(*HEADINGS, title="mean ladder reward, percentile and 95 % intervals; CPU seconds")
    for row in rows(results):
        table.add_row(*row)
    return table
