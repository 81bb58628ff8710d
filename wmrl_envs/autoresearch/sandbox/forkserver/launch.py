"""The job's processes as their supervisor sees them, and the plain way to get one: a fork."""

import os
import resource
import signal
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from . import usage
from .config import ServerConfig
from .confinement import Confinement, Given, run_confined

__all__ = ["Child", "End", "Launcher", "Pipes", "launch_here"]


class End(NamedTuple):
    """How a job ended.

    Attributes:
        exit_code: The exit code of its first process, or minus the signal's number.
        cpu_s: CPU seconds of all its processes.
        peak_kib: The highest resident set of the first process.
    """

    exit_code: int
    cpu_s: float
    peak_kib: int

    @classmethod
    def of(cls, status: int, used: resource.struct_rusage) -> "End":
        """From what ``os.wait4`` returns."""
        return cls(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss)


class Pipes(NamedTuple):
    """Three pipes that a job writes to: standard output, standard error, its set-up."""

    reading: tuple[int, int, int]
    writing: tuple[int, int, int]

    @classmethod
    def open(cls) -> "Pipes":
        """New pipes."""
        (out, out_end), (error, error_end), (setup, setup_end) = (os.pipe() for _ in range(3))
        return cls((out, error, setup), (out_end, error_end, setup_end))


class Child(Protocol):
    """A running job.

    Attributes:
        ended: A descriptor that becomes readable when the job's first process has ended.
        pipes: The reading ends of its standard output, its standard error and its set-up.
    """

    ended: int
    pipes: tuple[int, int, int]

    def usage(self, limit: int) -> usage.Usage:
        """What all its processes use at this moment; exact only where ``limit`` bytes are near."""

    def reap(self) -> End:
        """Ends whatever still runs of it and returns when all of it is gone."""


Launcher: TypeAlias = Callable[[Confinement, ServerConfig], Child]


def launch_here(plan: Confinement, config: ServerConfig) -> Child:
    """Forks the job from this process, which is then its parent and must be a subreaper."""
    pipes = Pipes.open()
    ruleset = plan.build_ruleset(config)
    pid = os.fork()
    if pid == 0:
        run_confined(plan, config, Given(*pipes.writing, ruleset))
    for descriptor in (*pipes.writing, *([] if ruleset is None else [ruleset])):
        os.close(descriptor)
    return _ForkedChild(pid, pipes)


class _ForkedChild:
    """Without a pid namespace, a job is what descends from its supervisor."""

    def __init__(self, pid: int, pipes: Pipes) -> None:
        self._pid = pid
        self.ended = os.pidfd_open(pid)
        self.pipes = pipes.reading

    def usage(self, limit: int) -> usage.Usage:
        return usage.of_descendants(os.getpid(), limit)

    def reap(self) -> End:
        signal.pidfd_send_signal(self.ended, signal.SIGKILL)
        _kill_descendants()
        _, status, used = os.wait4(self._pid, 0)
        _kill_descendants()
        _reap_orphans()
        return End.of(status, used)


def _kill_descendants() -> None:
    """Stops all, so that none can fork on, then kills all."""
    while pids := usage.descendants(os.getpid()):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue


def _reap_orphans() -> None:
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return
