"""Watches a running job: its output, its limits, its end. Ends it when a limit is passed."""

import json
import os
import re
import resource
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from . import usage
from .confinement import READY, SetupError
from .output import HeadAndTail

__all__ = ["AbandonedError", "Child", "Outcome", "watch"]

_CHUNK = 1 << 16
_SETUP_TIMEOUT_S = 30.0
_RELAXED_S, _ALERT_S = 0.25, 0.05
_MIB = 1 << 20
_MEMORY_ERROR = re.compile(r"\S*MemoryError(:.*)?")


class AbandonedError(Exception):
    """The client went away, so nobody wants the outcome."""


@dataclass
class Child:
    """The job's process: its pid, its pidfd, and the reading ends of its three pipes.

    Where bubblewrap stands between, ``pid`` is bubblewrap's and ``wrapped`` is the first process's,
    as this namespace sees it; the descriptor is the first process's, with which all others end.
    """

    pid: int
    pidfd: int
    stdout: int
    stderr: int
    setup: int
    started: float
    baseline_kib: int
    wrapped: int | None = None

    def exit_code(self, status: int) -> int:
        """The exit code, or minus the signal; bubblewrap, like a shell, adds 128 to a signal."""
        code = os.waitstatus_to_exitcode(status)
        return 128 - code if self.wrapped is not None and code > 128 else code


@dataclass(frozen=True)
class Outcome:
    """How a job ended; the fields are those of ``Execution``."""

    status: str
    exit_code: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    peak_mb: float


@dataclass
class _State:
    child: Child
    limits: dict[str, Any]
    kept: dict[int, HeadAndTail]
    setup: bytes = b""
    verdict: str | None = None
    exited: bool = False
    deadline: float = 0.0
    next_sample: float = 0.0
    peak: int = 0
    cpu_s: float = 0.0
    poller: select.poll = field(default_factory=select.poll)

    @property
    def running(self) -> bool:
        return not self.exited and self.verdict is None

    @property
    def ready(self) -> bool:
        return self.setup.startswith(READY)


def watch(
    child: Child, limits: dict[str, Any], connection: socket.socket, in_namespace: bool
) -> Outcome:
    """Returns when the job and all its descendants are gone.

    Raises:
        SetupError: The job's process could not confine itself.
        AbandonedError: The other end of ``connection`` was closed; the job is gone by then.
    """
    kept = {pipe: HeadAndTail(limits["tail_bytes"]) for pipe in (child.stdout, child.stderr)}
    state = _State(child, limits, kept, deadline=child.started + _SETUP_TIMEOUT_S)
    for descriptor in (child.stdout, child.stderr, child.setup, child.pidfd):
        state.poller.register(descriptor, select.POLLIN)
    state.poller.register(connection, select.POLLIN | select.POLLRDHUP)
    measure = _measure(child, in_namespace)
    while state.running:
        _step(state, connection.fileno(), measure)
    ended = time.monotonic()
    status, used = _reap(state, in_namespace)
    return _conclude(state, status, used, ended)


def _measure(child: Child, in_namespace: bool) -> Callable[[], usage.Usage]:
    if child.wrapped is not None:
        return partial(usage.of_tree, child.wrapped)
    if in_namespace:
        return usage.of_namespace
    return lambda: usage.of_descendants(os.getpid())


def _step(state: _State, connection: int, measure: Callable[[], usage.Usage]) -> None:
    now = time.monotonic()
    if now >= state.deadline:
        state.verdict = "timeout"
    elif state.ready and now >= state.next_sample:
        _sample(state, measure(), now)
    if not state.running:
        return
    wake = min(state.deadline, state.next_sample if state.ready else state.deadline)
    for descriptor, _ in state.poller.poll(max(1.0, (wake - now) * 1000)):
        if descriptor == connection:
            state.verdict = "abandoned"
        elif descriptor == state.child.pidfd:
            state.exited = True
        else:
            _read(state, descriptor)


def _sample(state: _State, found: usage.Usage, now: float) -> None:
    """Until the job is ready, /proc is still the host's and must not be sampled."""
    limit = state.limits["memory_mb"] * _MIB
    state.peak = max(state.peak, found.memory)
    state.cpu_s = max(state.cpu_s, found.cpu_s)
    state.next_sample = now + (_RELAXED_S if found.memory < limit / 4 else _ALERT_S)
    if found.memory > limit or found.files > state.limits["inodes"]:
        state.verdict = "memory"
    elif found.cpu_s > state.limits["cpu_s"]:
        state.verdict = "cpu"


def _read(state: _State, descriptor: int) -> bool:
    """Takes one piece from a pipe; False at its end or when nothing is there."""
    try:
        data = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return False
    if not data:
        state.poller.unregister(descriptor)
        return False
    if descriptor == state.child.setup:
        _note_setup(state, data)
        return True
    state.kept[descriptor].write(data)
    if sum(kept.total for kept in state.kept.values()) > state.limits["output_mb"] * _MIB:
        state.verdict = state.verdict or "output"
    return True


def _note_setup(state: _State, data: bytes) -> None:
    state.setup += data
    if state.ready:
        state.child.started = now = time.monotonic()
        state.deadline = now + state.limits["wall_s"]
        state.next_sample = now + min(_ALERT_S, state.limits["wall_s"])


def _reap(state: _State, in_namespace: bool) -> tuple[int, resource.struct_rusage]:
    """Ends the job's tree: in a pid namespace, the first process takes all others with it."""
    if not state.exited:
        signal.pidfd_send_signal(state.child.pidfd, signal.SIGKILL)
    if not in_namespace:
        _kill_descendants()
    _, status, used = os.wait4(state.child.pid, 0)
    if not in_namespace:
        _kill_descendants()
        _reap_orphans()
    for pipe in (state.child.setup, state.child.stdout, state.child.stderr):
        os.set_blocking(pipe, False)
        while state.verdict != "output" and _drain(state, pipe):
            pass
    return status, used


def _drain(state: _State, pipe: int) -> bool:
    try:
        return _read(state, pipe)
    except KeyError:  # its end was seen before
        return False


def _kill_descendants() -> None:
    """Without a pid namespace: stops all, so that none can fork on, then kills all."""
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


def _conclude(state: _State, status: int, used: resource.struct_rusage, ended: float) -> Outcome:
    if state.verdict == "abandoned":
        raise AbandonedError
    if not state.ready:
        raise SetupError(_setup_failure(state.setup))
    stdout, stderr = (state.kept[pipe].text() for pipe in (state.child.stdout, state.child.stderr))
    exit_code = state.child.exit_code(status)
    cpu_s = max(state.cpu_s, used.ru_utime + used.ru_stime)
    grown = (used.ru_maxrss - state.child.baseline_kib) * 1024
    return Outcome(
        status=state.verdict or _classify(exit_code, cpu_s, state.limits["cpu_s"], stderr),
        exit_code=exit_code,
        stdout=stdout,
        stderr=stderr,
        wall_s=ended - state.child.started,
        cpu_s=cpu_s,
        peak_mb=max(state.peak, grown) / _MIB,
    )


def _classify(exit_code: int, cpu_s: float, cpu_limit_s: float, stderr: str) -> str:
    if exit_code == 0:
        return "ok"
    if exit_code == -signal.SIGXCPU or (exit_code < 0 and cpu_s >= cpu_limit_s):
        return "cpu"
    if exit_code < 0:
        return "killed"
    last_line = stderr.rstrip().rsplit("\n", 1)[-1]
    return "memory" if _MEMORY_ERROR.fullmatch(last_line) else "error"


def _setup_failure(report: bytes) -> dict[str, Any]:
    try:
        found = json.loads(report)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    return {"error": f"the job ended before it was confined: {report!r}", "refused": False}
