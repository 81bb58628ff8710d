"""Runs several arms from one start, two processes at a time, and reports on them."""

import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wmrl_envs.benchmarks.autoresearch.arms import ARMS
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.presets import preset
from wmrl_envs.benchmarks.autoresearch.records import check_log, is_finished
from wmrl_envs.benchmarks.commands.config_file import as_arguments

_GRACE_S = 8.0
"""What a process has to write its checkpoint and to stop its sandbox."""
_LONGEST_ERROR = 500


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
    """A process of the comparison failed; the message holds the last line of its output."""


def run_jobs(jobs: Sequence[Job], at_once: int) -> Generator[None, None, None]:
    """Runs jobs, yielding about twice a second while they go on.

    When the caller stops iterating or is interrupted, what still runs is ended.

    Args:
        jobs: The jobs; each starts as soon as there is room and the job before it has ended.
        at_once: The most processes, at least 1.

    Raises:
        JobFailed: A job ended with an error; the others are ended.
        ValueError: ``at_once`` is less than 1, or a job comes after one that is not before it.
    """
    if at_once < 1:
        raise ValueError(f"at_once must be at least 1, got {at_once!r}")
    for number, job in enumerate(jobs):
        if job.after is not None and job.after not in [earlier.name for earlier in jobs[:number]]:
            raise ValueError(f"job {job.name!r} comes after {job.after!r}, which is not before it")
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
        lines = job.output.read_text(encoding="utf-8", errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
        raise JobFailed(
            f"{job.name} ended with code {process.returncode}: {said[:_LONGEST_ERROR]} "
            f"(all of its output: {job.output})"
        )


@contextmanager
def _processes() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Processes that end with the block, however it ends."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        yield running
    finally:
        for process in running.values():
            process.terminate()
        deadline = time.monotonic() + _GRACE_S
        for process in running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
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

    What WMRL executes in all (the world model's log and the anchors), the pure world model gets as
    a larger log, and the anchor groups alone as more anchors.
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

    Raises:
        SettingsError: A run has been begun with other settings, or the log is too short.
    """
    return [job for seed in seeds for job in _seed_jobs(base, arms, seed, root)]


def _seed_jobs(base: RunConfig, arms: Sequence[str], seed: int, root: Path) -> list[Job]:
    configs = {arm: arm_config(base, arm, seed) for arm in arms}
    for arm, config in configs.items():
        config.check_same(arm_folder(root, arm, seed) / "config.json")
    left = {a: c for a, c in configs.items() if not is_finished(arm_folder(root, a, seed))}
    readers = {arm: config for arm, config in left.items() if ARMS[arm].world_model}
    log = log_folder(root, seed)
    # Each arm reads the beginning of the log: the longest serves all.
    length = max((config.log_episodes for config in readers.values()), default=1)
    collecting = _collecting(base.with_(seed=seed, log_episodes=length), log) if readers else []
    after = collecting[0].name if collecting else None
    return collecting + [
        _arm_job(arm, config, root, log, after if arm in readers else None)
        for arm, config in left.items()
    ]


def _collecting(config: RunConfig, log: Path) -> list[Job]:
    """The job that executes the log, unless that has been done."""
    if (log / "log_costs.json").exists():
        check_log(log, config.log_episodes)
        return []
    command = ("collect", str(log), *options(config))
    return [Job(f"log, seed {config.seed}", command, log / "output.txt")]


def _arm_job(arm: str, config: RunConfig, root: Path, log: Path, after: str | None) -> Job:
    folder = arm_folder(root, arm, config.seed)
    shared = ("--log", str(log)) if ARMS[arm].world_model else ()
    command = ("train", "autoresearch", str(folder), *shared, *options(config))
    return Job(run_name(arm, config.seed), command, folder / "output.txt", after)


def run_name(arm: str, seed: int) -> str:
    """What an arm's run is called on the screen."""
    return f"{arm}, seed {seed}"


def options(config: RunConfig) -> tuple[str, ...]:
    """A config as command-line options; only what differs from the policy's defaults."""
    default: Mapping[str, object] = vars(RunConfig(**preset(config.policy)))
    changed = {name: value for name, value in vars(config).items() if value != default[name]}
    return tuple(as_arguments(changed))
