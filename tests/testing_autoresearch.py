"""A sandbox and tasks whose answers are written in the program, for tests of the environments."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wmrl_envs.autoresearch.grading import Grade, GradeStatus
from wmrl_envs.autoresearch.sandbox import Execution, Job, Limits
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import SandboxError

NO_CODE = "I would rather not."
BAD_SYNTAX = "```python\nprint(\n```"


def program(what: str, salt: Any = "") -> str:
    """An action that a :class:`FakeSandbox` obeys: ``"ok 0.7"``, ``"timeout"``, ``"crash"``, …"""
    return f"An answer.\n```python\n# {what} #\nsalt = {salt!r}\n```\n"


@dataclass
class FakeSandbox:
    """Obeys the first comment of a program; counts what it was asked to do.

    A program of ``crash n`` makes the sandbox itself fail n times.
    """

    jobs: list[Job] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    crashes: Counter = field(default_factory=Counter)
    closed: bool = False
    limits: Limits = field(default_factory=lambda: Limits(memory_mb=777))

    def __deepcopy__(self, memo: dict) -> "FakeSandbox":
        return self

    def run_many(
        self, jobs: Iterable[Job], *, on_error: str = "raise"
    ) -> Iterator[Execution | SandboxError]:
        assert on_error == "return"
        listed = list(jobs)
        self.batches.append(len(listed))
        for job in listed:
            yield self._run(job)

    def close(self) -> None:
        self.closed = True

    def _run(self, job: Job) -> Execution | SandboxError:
        found = re.match(r"# (\w+) ?(\S*) ?#", job.code)
        what, value = found.groups() if found else ("nothing", "")
        if what == "crash" and self.crashes[job.code] < int(value or 1_000_000):
            self.crashes[job.code] += 1
            return SandboxError("the fork server died")
        self.jobs.append(job)
        status = "ok" if what in ("ok", "crash", "nothing") else what
        return Execution(
            status=status,
            exit_code=0 if status == "ok" else 1,
            stdout=f"hello from {what}\n",
            stderr="" if status == "ok" else "Traceback …\nValueError: oh no\n",
            wall_s=0.5,
            cpu_s=0.25,
            peak_mb=1.0,
            artifact=(value or "0.5").encode() if what in ("ok", "crash") else None,
            artifact_error=None,
            backend="fake",
            layers=(),
        )


class FakeTask(Task):
    """A task whose submission is its own score; the feedback half gives a tenth of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.metric = "accuracy"
        self.time_limit = 5.0
        self.public_dir = Path("/nowhere")
        self.private_dir = Path("/nowhere/private")

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return FakeTask, (self.name,)

    def overview(self) -> str:
        return f"Overview of {self.name}."

    def card(self) -> str:
        return f"tabular binary accuracy\nrows 3\nnames {self.name}\n"

    def grade(self, submission: bytes | None, half: str = "score") -> Grade:
        if submission is None:
            return Grade(GradeStatus.NO_SUBMISSION, None, None, "no submission.csv")
        score = float(submission)
        if score < 0:
            return Grade(GradeStatus.INVALID_SUBMISSION, None, None, "a bad row")
        score = score if half == "score" else score / 10
        return Grade(GradeStatus.VALID, score, min(score, 1.0), f"accuracy {score:.6g}")


def fake_tasks(count: int = 4) -> tuple[FakeTask, ...]:
    """Tasks ``task-0``, ``task-1``, …"""
    return tuple(FakeTask(f"task-{i}") for i in range(count))
