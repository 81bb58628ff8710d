"""What goes into the sandbox and what comes out: limits, jobs, executions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath
from typing import Literal, TypeAlias, get_args

from wmrl_envs.autoresearch.checks import checked_int

__all__ = ["ENTRY", "STATUSES", "Execution", "ExecutionStatus", "Job", "Limits"]

ExecutionStatus: TypeAlias = Literal["ok", "error", "timeout", "cpu", "memory", "output", "killed"]
STATUSES: tuple[str, ...] = get_args(ExecutionStatus)
ENTRY = "solution.py"
_MOUNT_TAKEN = ("proc", "dev", "sys", "usr", "lib", "lib64", "bin", "sbin", "etc", "job", "tmp")


@dataclass(frozen=True)
class Limits:
    """The limits of one job, each enforced by the kernel or by the job's supervisor.

    Args:
        wall_s: Seconds from the script's start to its end.
        cpu_s: CPU seconds of the whole process tree.
        memory_mb: MiB of memory of the whole process tree: proportional set size and scratch files.
        data_mb: MiB of private memory that one process may reserve (RLIMIT_DATA).
        file_mb: MiB of one file.
        disk_mb: MiB of all files together, in every writable place.
        inodes: Files, directories and links together.
        processes: Processes and threads at once.
        open_files: Descriptors of one process.
        output_mb: MiB of standard output and standard error together.
        tail_bytes: Bytes kept of each of the two: a quarter from the head, the rest from the tail.
        artifact_mb: MiB of the artifact.
        threads: Threads that BLAS, OpenMP and joblib may use.

    Raises:
        ValueError: A limit is not positive and finite.
    """

    wall_s: float = 60.0
    cpu_s: float = 60.0
    memory_mb: int = 2048
    data_mb: int = 4096
    file_mb: int = 256
    disk_mb: int = 512
    inodes: int = 20_000
    processes: int = 64
    open_files: int = 512
    output_mb: int = 16
    tail_bytes: int = 8192
    artifact_mb: int = 64
    threads: int = 1

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and value > 0):
                raise ValueError(f"{limit.name} must be positive and finite, got {value!r}")
            if limit.type is int and not isinstance(value, int):
                raise ValueError(f"{limit.name} must be an int, got {value!r}")


@dataclass(frozen=True)
class Job:
    """One script and what it may read.

    Args:
        code: The script; it runs as ``__main__`` in ``/job``.
        files: Relative file name -> content, written into ``/job`` before the start.
        ro_data: Host directory -> absolute place, shown read-only. The entries of a directory
            placed at ``/data`` are also linked into ``/job``.
        limits: The job's limits; None takes the sandbox's.
        seed: Seed of ``random``, numpy and torch, at least 0.
        artifact: Name of the file in ``/job`` that is read when the job has ended.
        hidden: Absolute host paths that this job must not read, besides those of the sandbox, even
            where they lie inside something that it sees.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: ``seed`` is negative, or a file name, a place, the artifact's name or a hidden
            path is not of the form above.
    """

    code: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    ro_data: Mapping[str, str] = field(default_factory=dict)
    limits: Limits | None = None
    seed: int = 0
    artifact: str = "submission.csv"
    hidden: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.code, str):
            raise TypeError(f"code must be a str, got {type(self.code).__name__}")
        if not isinstance(self.limits, Limits | None):
            raise TypeError(f"limits must be Limits or None, got {self.limits!r}")
        if not isinstance(self.artifact, str):
            raise TypeError(f"artifact must be a str, got {self.artifact!r}")
        checked_int("seed", self.seed, least=0)
        for name, content in self.files.items():
            _check_file_name(name)
            if not isinstance(content, bytes):
                raise TypeError(f"files must hold bytes, got {content!r:.80} for {name!r}")
        for place in self.ro_data.values():
            _check_place(place)
        if "/" in self.artifact or self.artifact in ("", ".", "..") or "\0" in self.artifact:
            raise ValueError(f"artifact must be a file name without '/', got {self.artifact!r}")
        for path in self.hidden:
            if len(path) < 2 or not path.startswith("/"):
                raise ValueError(f"hidden must hold absolute paths, got {path!r}")


def _check_file_name(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise ValueError(f"files must have relative names without '..', got {name!r}")
    if str(path) == ENTRY:
        raise ValueError(f"files must not hold {ENTRY!r}: that is the name of the script itself")


def _check_place(place: str) -> None:
    parts = PurePosixPath(place).parts
    if len(parts) < 2 or parts[0] != "/" or ".." in parts or parts[1] in _MOUNT_TAKEN:
        raise ValueError(
            f"ro_data must map to absolute places such as '/data' outside {_MOUNT_TAKEN}, "
            f"got {place!r}"
        )


@dataclass(frozen=True)
class Execution:
    """What became of one job.

    Attributes:
        status: ``ok`` (exit code 0), ``error`` (another exit code), ``timeout``, ``cpu``,
            ``memory`` and ``output`` (a limit ended it, or an uncaught MemoryError did), ``killed``
            (a signal did).
        exit_code: The exit code, or minus the signal's number.
        stdout: Head and tail of the standard output.
        stderr: Head and tail of the standard error.
        wall_s: Seconds from the script's start to its end.
        cpu_s: CPU seconds of the whole process tree.
        peak_mb: MiB of memory at the highest sample, or the first process's growth if that is more.
        artifact: The artifact's bytes, or None.
        artifact_error: Why there is no artifact: "missing", "not a regular file", ...; else None.
        backend: Name of the backend that ran the job.
        layers: Names of the isolation layers that were on.
    """

    status: ExecutionStatus
    exit_code: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    peak_mb: float
    artifact: bytes | None
    artifact_error: str | None
    backend: str
    layers: tuple[str, ...]
