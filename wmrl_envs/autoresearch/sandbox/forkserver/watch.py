"""Watches a running job: its output, its limits, its end. Ends it when a limit is passed."""

import json
import os
import select
import signal
import socket
import time
from typing import Any, NamedTuple

from .confinement import READY
from .failure import AbandonedError, SetupError
from .launch import Child, End
from .output import HeadAndTail
from .usage import Usage

__all__ = ["Outcome", "watch"]

_CHUNK = 1 << 16
_SETUP_TIMEOUT_S = 30.0
_FIRST_S, _RELAXED_S, _ALERT_S = 0.05, 0.25, 0.05
_MIB = 1 << 20


class Outcome(NamedTuple):
    """How a job ended; the fields are those of ``Execution``."""

    status: str
    exit_code: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    peak_mb: float


class _State:
    """What is known of the job so far."""

    def __init__(self, child: Child, limits: dict[str, Any]) -> None:
        self.child = child
        self.limits = limits
        self.stdout, self.stderr, self.setup = child.pipes
        self.kept = {pipe: HeadAndTail(limits["tail_bytes"]) for pipe in child.pipes[:2]}
        self.report = b""
        self.verdict: str | None = None
        self.exited = False
        self.started = time.monotonic()
        self.deadline = self.started + _SETUP_TIMEOUT_S
        self.next_sample = 0.0
        self.peak = 0
        self.cpu_s = 0.0
        self.poller = select.poll()

    @property
    def running(self) -> bool:
        return not self.exited and self.verdict is None

    @property
    def ready(self) -> bool:
        return self.report.startswith(READY)


def watch(child: Child, limits: dict[str, Any], connection: socket.socket) -> Outcome:
    """Returns when the job and all its descendants are gone.

    Raises:
        SetupError: The job's process could not confine itself.
        AbandonedError: The other end of ``connection`` was closed; the job is gone by then.
    """
    state = _State(child, limits)
    for descriptor in (*child.pipes, child.ended):
        state.poller.register(descriptor, select.POLLIN)
    state.poller.register(connection, select.POLLIN | select.POLLRDHUP)
    while state.running:
        _step(state, connection.fileno())
    ended = time.monotonic()
    end = child.reap()
    _drain(state)
    return _conclude(state, end, ended)


def _step(state: _State, connection: int) -> None:
    now = time.monotonic()
    if now >= state.deadline:
        state.verdict = "timeout"
    elif state.ready and now >= state.next_sample:
        _sample(state, state.child.usage(state.limits["memory_mb"] * _MIB), now)
    if not state.running:
        return
    wake = min(state.deadline, state.next_sample if state.ready else state.deadline)
    for descriptor, _ in state.poller.poll(max(1.0, (wake - now) * 1000)):
        if descriptor == connection:
            state.verdict = "abandoned"
        elif descriptor == state.child.ended:
            state.exited = True
        else:
            _read(state, descriptor)


def _sample(state: _State, found: Usage, now: float) -> None:
    """Until the job is ready, what it holds is the harness's and must not be sampled."""
    limit = state.limits["memory_mb"] * _MIB
    state.peak = max(state.peak, found.added(_lent(state.report)))
    state.cpu_s = max(state.cpu_s, found.cpu_s)
    state.next_sample = now + (_RELAXED_S if found.memory < limit / 4 else _ALERT_S)
    if found.memory > limit or found.files > state.limits["inodes"]:
        state.verdict = "memory"
    elif found.cpu_s > state.limits["cpu_s"]:
        state.verdict = "cpu"


def _read(state: _State, pipe: int) -> bool:
    """Takes one piece from a pipe; False at its end or when nothing is there."""
    try:
        data = os.read(pipe, _CHUNK)
    except BlockingIOError:
        return False
    if not data:
        state.poller.unregister(pipe)
        return False
    if pipe == state.setup:
        _note_setup(state, data)
        return True
    state.kept[pipe].write(data)
    if sum(kept.total for kept in state.kept.values()) > state.limits["output_mb"] * _MIB:
        state.verdict = state.verdict or "output"
    return True


def _note_setup(state: _State, data: bytes) -> None:
    state.report += data
    if state.ready:
        state.started = now = time.monotonic()
        state.deadline = now + state.limits["wall_s"]
        state.next_sample = now + min(_FIRST_S, state.limits["wall_s"])


def _drain(state: _State) -> None:
    """Reads what the job has left in its pipes."""
    for pipe in (state.setup, state.stdout, state.stderr):
        os.set_blocking(pipe, False)
        try:
            while state.verdict != "output" and _read(state, pipe):
                pass
        except KeyError:  # its end was seen before
            continue


def _conclude(state: _State, end: End, ended: float) -> Outcome:
    if state.verdict == "abandoned":
        raise AbandonedError
    if not state.ready:
        raise SetupError(_setup_failure(state.report))
    stdout, stderr = state.kept[state.stdout].text(), state.kept[state.stderr].text()
    cpu_s = max(state.cpu_s, end.cpu_s)
    grown = max(0, end.peak_kib * 1024 - _lent(state.report))
    return Outcome(
        status=state.verdict or _classify(end.exit_code, cpu_s, state.limits["cpu_s"], stderr),
        exit_code=end.exit_code,
        stdout=stdout,
        stderr=stderr,
        wall_s=ended - state.started,
        cpu_s=cpu_s,
        peak_mb=max(state.peak, grown) / _MIB,
    )


def _lent(report: bytes) -> int:
    """Bytes of memory that the job's first process was forked with."""
    return int(report.removeprefix(READY)) * 1024


def _classify(exit_code: int, cpu_s: float, cpu_limit_s: float, stderr: str) -> str:
    if exit_code == 0:
        return "ok"
    if exit_code == -signal.SIGXCPU or (exit_code < 0 and cpu_s >= cpu_limit_s):
        return "cpu"
    if exit_code < 0:
        return "killed"
    last_line = stderr.rstrip().rsplit("\n", 1)[-1]
    return "memory" if _is_memory_error(last_line) else "error"


def _is_memory_error(line: str) -> bool:
    """True for the last line of an uncaught MemoryError, or of a subclass such as numpy's."""
    name = line.partition(":")[0]
    return name.endswith("MemoryError") and not any(map(str.isspace, name))


def _setup_failure(report: bytes) -> dict[str, Any]:
    try:
        found = json.loads(report)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    return {"error": f"the job ended before it was confined: {report!r}", "refused": False}
