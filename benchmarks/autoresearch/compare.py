"""Runs several arms from one start, two processes at a time, and reports on them."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wmrl_envs.benchmarks.autoresearch.config import RunConfig

_GRACE_S = 5.0


@dataclass(frozen=True)
class Job:
    """One process of a comparison.

    Attributes:
        name: What it is called on the screen and in its output file.
        command: The arguments after ``wmrl``.
        output: Where its output goes.
        after: The job that must have ended before it, or None.
    """

    name: str
    command: tuple[str, ...]
    output: Path
    after: str | None = None


class JobFailed(Exception):
    """A process of the comparison failed; the message holds the end of its output."""


def run_jobs(jobs: Sequence[Job], at_once: int) -> Iterator[None]:
    """Runs jobs, yielding about twice a second while they go on.

    When the caller stops iterating or is interrupted, what still runs is ended.

    Args:
        jobs: The jobs; each starts as soon as there is room and the job before it has ended.
        at_once: The most processes.

    Raises:
        JobFailed: A job ended with an error; the others are ended.
    """
    waiting, done = list(jobs), set[str]()
    with _processes() as running:
        while waiting or running:
            for job in [j for j in waiting if j.after is None or j.after in done]:
                if len(running) < at_once:
                    running[job.name] = _start(job)
                    waiting.remove(job)
            yield
            time.sleep(0.5)
            for job in jobs:
                if job.name in running and running[job.name].poll() is not None:
                    _check(job, running.pop(job.name))
                    done.add(job.name)


def _start(job: Job) -> subprocess.Popen[bytes]:
    job.output.parent.mkdir(parents=True, exist_ok=True)
    with job.output.open("wb") as file:
        return subprocess.Popen(
            (sys.executable, "-m", "wmrl_envs.benchmarks.cli", *job.command),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def _check(job: Job, process: subprocess.Popen[bytes]) -> None:
    if process.returncode:
        tail = job.output.read_text(encoding="utf-8", errors="replace")[-1500:]
        raise JobFailed(f"{job.name} ended with code {process.returncode}; {job.output}:\n{tail}")


@contextmanager
def _processes() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Processes that end with the block, however it ends."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        yield running
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def arm_folder(root: Path, arm: str, seed: int) -> Path:
    """Where an arm's run lies in a comparison's folder."""
    return root / f"seed-{seed}" / arm


def log_folder(root: Path, seed: int) -> Path:
    """Where a seed's execution log lies in a comparison's folder."""
    return root / f"seed-{seed}" / "log"


def arm_config(base: RunConfig, arm: str, seed: int) -> RunConfig:
    """An arm's settings at equal executions.

    What WMRL executes in all (the world model's log and the anchors), the pure world model gets as a
    log twice as large, and the anchor groups alone as more anchors.
    """
    config = base.with_(arm=arm, seed=seed)
    online = round(base.steps * base.num_envs * base.anchors)
    if arm == "world-model":
        return config.with_(log_episodes=base.log_episodes + online)
    if arm == "anchors":
        share = (base.log_episodes + online) / (base.steps * base.num_envs)
        return config.with_(anchors=min(1.0, share))
    return config


def comparison(base: RunConfig, arms: Sequence[str], seeds: Sequence[int], root: Path) -> list[Job]:
    """The jobs of a comparison; runs that have ended are left out.

    Args:
        base: The settings that the arms share.
        arms: The arms.
        seeds: The seeds.
        root: The comparison's folder.
    """
    jobs = []
    for seed in seeds:
        log, log_name = log_folder(root, seed), f"log, seed {seed}"
        largest = max(arm_config(base, arm, seed).log_episodes for arm in arms)
        if not (log / "log_costs.json").exists():
            config = base.with_(seed=seed, log_episodes=largest)
            jobs.append(Job(log_name, ("collect", str(log), *options(config)), log / "output.txt"))
        for arm in arms:
            jobs += _arm_job(base, arm, seed, root, log_name if jobs else None)
    return jobs


def _arm_job(base: RunConfig, arm: str, seed: int, root: Path, after: str | None) -> list[Job]:
    from wmrl_envs.benchmarks.autoresearch.arms import ARMS

    folder = arm_folder(root, arm, seed)
    if (folder / "policy").exists():
        return []
    shared = ("--log", str(log_folder(root, seed))) if ARMS[arm].world_model else ()
    command = ("train", "autoresearch", str(folder), *shared, *options(arm_config(base, arm, seed)))
    return [Job(f"{arm}, seed {seed}", command, folder / "output.txt", after if shared else None)]


def options(config: RunConfig) -> tuple[str, ...]:
    """A config as command-line options; only what differs from the defaults."""
    default: Mapping[str, object] = vars(RunConfig())
    found: list[str] = []
    for name, value in vars(config).items():
        if value != default[name]:
            values = value if isinstance(value, tuple) else (value,)
            found += [f"--{name.replace('_', '-')}", *map(str, values)]
    return tuple(found)
