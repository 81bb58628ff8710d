"""``wmrl eval``: the real scores of a policy, as the paper reports them."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from tyro.conf import Positional

from wmrl_envs.benchmarks.commands.base import setting_errors, stopped_by_signals, usage_errors

if TYPE_CHECKING:
    from wmrl_envs.autoresearch.task import Task
    from wmrl_envs.benchmarks.autoresearch.score_report import ScoreReport

__all__ = ["Eval"]


@dataclass(frozen=True)
class Eval:
    """Execute a policy's solutions and report its scores.

    Every task is solved several times; the leaderboard percentile is averaged over the samples,
    failures as 0 (avg@8), then over the tasks of a category, then over the categories. Intervals
    resample whole tasks.
    """

    track: Positional[Literal["autoresearch"]]
    """What to evaluate on."""
    policy: Positional[str] = "embedded"
    """`embedded`, a run's `policy` folder, or a folder or Hub id of a causal language model."""
    tasks: tuple[str, ...] = ("test",)
    """Splits (`train`, `test`, `all`), names of bundled tasks, and task folders of any format."""
    samples: int = 8
    """Episodes a task."""
    turns: int = 1
    """Turns an episode; the best one counts."""
    seed: int = 0
    """Seeds the policy's sampling."""
    workers: int = 1
    """Programs executed at once."""
    threads: int = 1
    """CPU threads of torch."""
    paper: bool = False
    """Print the rows of the paper's main table beside."""
    out: Path | None = None
    """A folder for `scores.json`, `scores.md` and `scores.tex`."""

    def run(self, console: Console) -> int:
        """Evaluates, prints the tables and writes the files."""
        with usage_errors():
            tasks = _open(self.tasks)
            if self.samples < 1 or self.turns < 1:
                raise ValueError(
                    f"samples and turns must be at least 1, got {self.samples}, {self.turns}"
                )
            if self.out is not None:
                self.out.mkdir(parents=True, exist_ok=True)
        report = self._evaluate(console, tasks)
        if not report.samples:
            console.print(f"not graded: the sandbox failed on all {report.ungraded} programs")
            return 1
        for part in report.console(self.paper):
            console.print(part, highlight=False)
        if self.out is not None:
            _write(report, self.out, self.paper)
            console.print(f"Wrote {self.out}", markup=False, highlight=False, soft_wrap=True)
        return 0

    def _evaluate(self, console: Console, tasks: "list[Task]") -> "ScoreReport":
        import torch

        from wmrl_envs.benchmarks.autoresearch.config import RunConfig
        from wmrl_envs.benchmarks.autoresearch.score_report import ScoreReport
        from wmrl_envs.benchmarks.autoresearch.scoring import play
        from wmrl_envs.benchmarks.autoresearch.setup import make_policy, make_sandbox, reads_cards

        torch.set_num_threads(self.threads)
        with setting_errors(), stopped_by_signals():
            config = RunConfig(policy=self.policy, workers=self.workers)
            policy = make_policy(config)
            with make_sandbox(config) as sandbox, console.status("executing"):
                samples, ungraded = play(
                    policy, tasks, sandbox, samples=self.samples, turns=self.turns,
                    cards=reads_cards(config), seed=self.seed,
                )  # fmt: skip
        return ScoreReport(self.policy, tuple(samples), ungraded)


def _open(names: tuple[str, ...]) -> "list[Task]":
    """Splits, bundled tasks, and folders; a folder's name yields to that of a bundled task."""
    from wmrl_envs.autoresearch import catalog, load_task

    known = {"train", "test", "all", *catalog.names()}
    return list(
        catalog.resolve(
            [
                load_task(name) if name not in known and Path(name).is_dir() else name
                for name in names
            ]
        )
    )


def _write(report: "ScoreReport", folder: Path, paper: bool) -> None:
    from wmrl_envs.benchmarks.provenance import provenance

    record = {**provenance(sys.argv[1:]), **report.record()}
    (folder / "scores.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (folder / "scores.md").write_text(report.markdown(paper), encoding="utf-8")
    (folder / "scores.tex").write_text(report.latex(paper), encoding="utf-8")
