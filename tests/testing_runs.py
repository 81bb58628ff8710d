"""Small runs of the main job without a kernel's help: an instant sandbox and tiny settings."""

import contextlib
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from wmrl_envs.autoresearch.sandbox import Execution, Job, Limits
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.records import append_line
from wmrl_envs.errors import SandboxError

TINY: dict[str, Any] = {
    "steps": 3,
    "groups": 2,
    "group_size": 3,
    "anchors": 0.5,
    "refit_every": 0,
    "log_episodes": 6,
    "train_tasks": ("digits", "diabetes"),
    "test_tasks": ("olive-area",),
    "eval_every": 2,
    "eval_episodes": 2,
    "final_episodes": 2,
    "checkpoint_every": 2,
}


def tiny(**changes: Any) -> RunConfig:
    """Settings of a run that takes a moment."""
    return RunConfig(**{**TINY, **changes})


class InstantSandbox:
    """Decides by a program's checksum: an error, no submission, or the sample submission.

    Attributes:
        jobs: The programs that it was given.
        dead: True makes it fail, as a harness does, on every program.
    """

    dead = False

    def __init__(self, **_: object) -> None:
        self.limits = Limits()
        self.jobs: list[Job] = []

    def __enter__(self) -> "InstantSandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> "InstantSandbox":
        return self

    def close(self) -> None:
        """Has nothing to end."""

    def run_many(
        self, jobs: Iterable[Job], *, on_error: str = "raise"
    ) -> Iterator[Execution | SandboxError]:
        """Answers at once."""
        for job in jobs:
            self.jobs.append(job)
            yield SandboxError("the fork server died") if self.dead else _execution(job)


class DeadSandbox(InstantSandbox):
    """A sandbox whose harness fails on every program."""

    dead = True


def _execution(job: Job) -> Execution:
    draw = zlib.crc32(job.code.encode()) % 3
    (public,) = job.ro_data
    sample = (Path(public) / "sample_submission.csv").read_bytes()
    return Execution(
        status="error" if draw == 0 else "ok",
        exit_code=int(draw == 0),
        stdout="",
        stderr="",
        wall_s=0.5,
        cpu_s=0.25,
        peak_mb=1.0,
        artifact=sample if draw == 2 else None,
        artifact_error=None,
        backend="instant",
        layers=(),
    )


def evaluation(
    step: int, train: list[float], test: list[float], executions: int = 0, **extra: float
) -> dict[str, Any]:
    """A line of ``evaluations.jsonl`` whose episodes alternate between the tasks a and b."""
    costs = {"executions": executions, "execution": 2.0 * executions, "generation": 3.0}
    episodes = {
        split: [
            {
                "task": "ab"[i % 2],
                "reward": reward,
                "position": max(0.0, 2 * reward - 1),
                "status": "valid",
                "code": "x",
                **extra,
            }
            for i, reward in enumerate(rewards)
        ]
        for split, rewards in (("train", train), ("test", test))
    }
    return {"step": step, "costs": costs, **episodes}


def write_run(folder: Path, config: RunConfig, *evaluations: dict[str, Any]) -> Path:
    """Writes the files of a run folder that a report reads."""
    config.write(folder / "config.json")
    for record in evaluations:
        append_line(folder / "evaluations.jsonl", record)
    return folder


def processes_about(path: Path) -> list[str]:
    """Command lines of the running processes that name a path."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(path) in command:
                found.append(command)
    return found
