"""``wmrl tasks``: what there is to solve, and how well a program solves it."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.console import Console
from rich.table import Column, Table
from tyro.conf import Positional, subcommand

from wmrl_envs.benchmarks.commands.base import UsageError, usage_errors

if TYPE_CHECKING:
    from wmrl_envs.autoresearch.outcome import Outcome
    from wmrl_envs.autoresearch.task import Task

__all__ = ["Tasks"]


@dataclass(frozen=True)
class List:
    """List the bundled tasks: name, split, modality, category, metric, test noise."""

    split: Literal["all", "train", "test"] = "all"
    """Which split to list; policies train on `train`, `test` is never trained on."""

    def run(self, console: Console) -> int:
        """Prints one row a task."""
        from wmrl_envs.autoresearch import catalog

        table = Table(
            Column("task", no_wrap=True), "split", "modality", "category", "metric", "IQR/SE"
        )
        tasks = catalog.resolve(self.split)
        for task in tasks:
            kind = (task.split, task.modality, task.category, task.metric)
            table.add_row(task.name, *kind, _noise_cell(task))
        console.print(table)
        console.print(
            f"{len(tasks)} tasks; `wmrl tasks show NAME` prints what a policy reads. IQR/SE: "
            "the distance between the leaderboard's quartiles in standard errors of a good "
            "submission's score; ! marks tasks whose percentile is mostly noise."
        )
        return 0


@dataclass(frozen=True)
class Show:
    """Print a task as a policy reads it: description, data, submission contract."""

    name: Positional[str]
    """A bundled task (see `wmrl tasks list`) or the path of a task folder."""
    card: bool = False
    """Print the three-line card for small policies instead."""

    def run(self, console: Console) -> int:
        """Prints the task's text."""
        task = _open(self.name)
        text = task.card() if self.card else task.overview()
        console.print(text.rstrip("\n"), markup=False, highlight=False, soft_wrap=True)
        if not self.card:
            _print_standing(console, task)
            console.print(f"\nThe files lie in {task.public_dir}", markup=False, soft_wrap=True)
        return 0


@dataclass(frozen=True)
class Check:
    """Check task folders: the format, and whether the public files give the answers away.

    The exit code is 1 if a task breaks the format or a leak is found. No leak found does not prove
    that there is none.
    """

    names: Positional[tuple[str, ...]]
    """Task folders, names of bundled tasks, or `all` for every bundled task."""

    def run(self, console: Console) -> int:
        """Prints one line a fault."""
        from wmrl_envs.autoresearch import catalog

        names = [
            n for given in self.names for n in (catalog.names() if given == "all" else [given])
        ]
        faults = [(name, fault) for name in names for fault in _faults(name)]
        for name, fault in faults:
            console.print(f"{name}: {fault}", markup=False, highlight=False, soft_wrap=True)
        if not faults:
            console.print(f"{len(names)} tasks checked: no fault and no leak found.")
        return int(bool(faults))


@dataclass(frozen=True)
class Run:
    """Execute a program in the sandbox and grade the submission that it writes.

    The program runs as in training: no network, the data at /data and in its working directory, and
    it should write `submission.csv`. The exit code is 0 if the submission is valid.
    """

    name: Positional[str]
    """A bundled task (see `wmrl tasks list`) or the path of a task folder."""
    solution: Positional[Path]
    """The Python program; `-` reads it from the standard input."""
    seed: int = 0
    """The seed that Python, numpy and torch are started with."""
    min_level: Literal["namespaces", "landlock"] = "namespaces"
    """The weakest isolation to accept; `wmrl doctor` says what this machine has."""

    def run(self, console: Console) -> int:
        """Prints status, score, position and reward, and what the program wrote."""
        from wmrl_envs.autoresearch.grading import GradeStatus

        task = _open(self.name)
        outcome = self._outcome(task, _read_program(self.solution))
        _print_outcome(console, task, outcome)
        valid = outcome.grade is not None and outcome.grade.status is GradeStatus.VALID
        return 0 if valid else 1

    def _outcome(self, task: "Task", code: str) -> "Outcome":
        from wmrl_envs.autoresearch.execution import Executor
        from wmrl_envs.autoresearch.grading import GradeStatus, compiles
        from wmrl_envs.autoresearch.outcome import Outcome, Submission

        message = compiles(code)
        if message is not None:
            return Outcome.unexecuted(GradeStatus.SYNTAX_ERROR, message)
        with usage_errors():
            sandbox = {"min_level": self.min_level}
            executor = Executor(sandbox=sandbox, execution_seed=self.seed)
        try:
            return executor.resolve([Submission(task, code)])[0]
        finally:
            executor.close()


@dataclass(frozen=True)
class Tasks:
    """List, show, check and solve the AutoResearch tasks."""

    command: (
        Annotated[List, subcommand("list")]
        | Annotated[Show, subcommand("show")]
        | Annotated[Check, subcommand("check")]
        | Annotated[Run, subcommand("run")]
    )

    def run(self, console: Console) -> int:
        """Runs the subcommand."""
        return self.command.run(console)


def _open(name: str) -> "Task":
    """A bundled task by its name, or a task of any format by its folder."""
    with usage_errors():
        return _found(name)


def _found(name: str) -> "Task":
    from wmrl_envs.autoresearch import catalog, load_task

    if name not in catalog.names() and Path(name).is_dir():
        return load_task(name)
    return catalog.load(name)


def _faults(name: str) -> tuple[str, ...]:
    """What is wrong with a task; a folder that cannot be opened has one fault."""
    from wmrl_envs.autoresearch.leaks import find_leaks
    from wmrl_envs.errors import TaskFormatError

    try:
        task = _found(name) if Path(name).is_dir() else _open(name)
        task.check()
        return find_leaks(task)
    except TaskFormatError as error:
        return (str(error),)


def _noise_cell(task: "Task") -> str:
    from wmrl_envs.autoresearch.standing import noise_of

    noise = noise_of(task)
    if noise is None:
        return ""
    return f"{noise.ratio:.1f}{' !' if noise.mostly_noise else ''}"


def _print_standing(console: Console, task: "Task") -> None:
    """What a person should know of the leaderboard; no policy reads it."""
    from wmrl_envs.autoresearch.medals import thresholds
    from wmrl_envs.autoresearch.standing import NOISY_BELOW, main_board, noise_of

    board, noise = main_board(task), noise_of(task)
    if board is None:
        return
    console.print("\n[bold]Leaderboard[/bold] (not shown to policies)")
    table = Table(show_header=False)
    table.add_row("entries", str(len(board.scores)))
    table.add_row("best, median, last", ", ".join(_quantiles(board.scores)))
    for name, score in thresholds(board).items():
        table.add_row(f"{name} medal", f"{score:.6g}")
    if noise is not None:
        table.add_row("between the quartiles", f"{noise.spread:.4g}")
        table.add_row("standard error of a score", f"{noise.standard_error:.4g}")
        table.add_row("standard error of a position", f"{noise.position_error:.3f}")
    console.print(table)
    if noise is not None and noise.mostly_noise:
        console.print(
            f"The percentile is mostly noise: the quartiles lie {noise.ratio:.1f} standard errors "
            f"apart (under {NOISY_BELOW:g})."
        )


def _quantiles(scores: tuple[float, ...]) -> tuple[str, str, str]:
    chosen = (scores[0], scores[len(scores) // 2], scores[-1])
    return tuple(f"{score:.6g}" for score in chosen)  # type: ignore[return-value]


def _read_program(path: Path) -> str:
    with usage_errors():
        if str(path) == "-":
            return sys.stdin.read()
        return path.read_text(encoding="utf-8")


def _print_outcome(console: Console, task: "Task", outcome: "Outcome") -> None:
    from wmrl_envs.autoresearch.grading import ladder_reward
    from wmrl_envs.autoresearch.standing import medal_of

    grade = outcome.grade
    if grade is None:
        raise UsageError(f"not graded: {outcome.note}")
    for title, text in (("output", outcome.stdout), ("errors", outcome.stderr)):
        if text.strip():
            console.rule(title, align="left")
            console.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)
    table = Table(show_header=False)
    table.add_row("task", task.name)
    table.add_row("status", grade.status.value)
    table.add_row("message", grade.message)
    if grade.score is not None and grade.position is not None:
        table.add_row(task.metric, f"{grade.score:.6g}")
        table.add_row("leaderboard position", f"{grade.position:.3f} (1 is the top)")
        table.add_row("medal", medal_of(task, grade.score) or "none")
    table.add_row("reward", f"{ladder_reward(grade):.3f}")
    table.add_row("time", f"{outcome.wall_s:.2f} s wall, {outcome.cpu_s:.2f} s CPU")
    console.print(table)
