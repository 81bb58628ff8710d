"""The warm process: it holds the scientific stack and forks the jobs of all supervisors.

A supervisor hands it a socket; the fork lands in a pid namespace of its own, takes what it needs
from the socket, and its end is reported there. The warm process itself reads nothing but one byte
and one descriptor a job.
"""

import os
import select
import signal
import socket
import struct
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from . import primitives as kernel
from .config import ServerConfig
from .confinement import Confinement, Given, run_confined
from .launch import Child, End, Pipes
from .preload import preload
from .protocol import (
    receive_descriptors,
    receive_exactly,
    receive_message,
    send_descriptor,
    send_message,
)
from .usage import Usage, of_namespace

__all__ = ["WarmProcess"]

_REPORT = struct.Struct("!idI")


class WarmProcess:
    """Starts the warm process, as a child that ends with this one and takes all jobs along.

    It is the first process of a pid namespace, and later children of this process are in that
    namespace too: a process can only ever leave its jobs' namespaces for one that it may manage.

    Args:
        modules: What it imports.
        config: What all jobs share.
        foreign: Descriptors of this process that are none of its business.

    Raises:
        RuntimeError: A module cannot be imported or has started threads.
    """

    def __init__(self, modules: list[str], config: ServerConfig, foreign: tuple[int, ...]) -> None:
        self._control, theirs = socket.socketpair()
        kernel.unshare("pid")
        pid = os.fork()
        if pid == 0:
            self._control.close()
            for descriptor in foreign:
                os.close(descriptor)
            _run(theirs, modules, config)
        theirs.close()
        self.pidfd = os.pidfd_open(pid)
        greeting, _ = receive_message(self._control, 0)
        if "error" in greeting:
            raise RuntimeError(greeting["error"])
        self.preload_s: float = greeting["preload_s"]

    def launch(self, plan: Confinement, config: ServerConfig) -> Child:
        """Lets the warm process fork a job into the namespaces of the calling supervisor."""
        connection, theirs = socket.socketpair()
        with theirs:
            send_descriptor(self._control, theirs.fileno())
        pipes = Pipes.open()
        ruleset = plan.build_ruleset(config)
        given = [os.pidfd_open(os.getpid()), *pipes.writing]
        if ruleset is not None:
            given.append(ruleset)
        send_message(connection, vars(plan))
        send_descriptor(connection, *given)
        for descriptor in given:
            os.close(descriptor)
        return _WarmChild(connection, pipes)


class _WarmChild:
    """A job that the warm process has forked for the other end of ``connection``."""

    def __init__(self, connection: socket.socket, pipes: Pipes) -> None:
        self.ended = connection.fileno()
        self.pipes = pipes.reading
        self._connection = connection

    def usage(self, limit: int) -> Usage:
        return of_namespace(limit)

    def reap(self) -> End:
        """The warm process ends the job, if need be, once this side is shut."""
        self._connection.shutdown(socket.SHUT_WR)
        report = receive_exactly(self._connection, _REPORT.size)
        return End(*_REPORT.unpack(report))


def _run(control: socket.socket, modules: list[str], config: ServerConfig) -> NoReturn:
    try:
        kernel.die_with_parent()
        send_message(control, _try_preload(modules))
        _Server(control, config).serve()
    finally:
        os._exit(0)


def _try_preload(modules: list[str]) -> dict[str, Any]:
    try:
        return {"preload_s": preload(modules)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


class _Running(NamedTuple):
    """A forked job and where to report its end."""

    pid: int
    pidfd: int
    connection: int

    def report(self) -> None:
        """Sends the end to the supervisor, if that is still there."""
        _, status, used = os.wait4(self.pid, 0)
        report = _REPORT.pack(*End.of(status, used))
        with socket.socket(fileno=self.connection) as connection, suppress(OSError):
            connection.sendall(report)
        os.close(self.pidfd)


class _Server:
    """Forks jobs, ends those whose supervisors let go of them, and reports their ends."""

    def __init__(self, control: socket.socket, config: ServerConfig) -> None:
        self._control = control
        self._config = config
        self._own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)
        self._jobs: dict[int, _Running] = {}
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)

    def serve(self) -> None:
        """Returns when the other end of the control socket is closed."""
        while True:
            ready = {descriptor for descriptor, _ in self._poller.poll()}
            for descriptor in ready & self._jobs.keys():
                # Which it may no longer be: the end of a job closes its other descriptor too.
                if descriptor in self._jobs:
                    self._attend(descriptor, self._jobs[descriptor])
            if self._control.fileno() in ready:
                received = receive_descriptors(self._control, 1)
                if received is None:
                    return
                self._start(received[0])

    def _start(self, connection: int) -> None:
        try:
            pid = self._fork(connection)
        except OSError:
            os.close(connection)  # which the supervisor takes for a fault of the harness
            return
        job = _Running(pid, os.pidfd_open(pid), connection)
        self._jobs |= {job.pidfd: job, connection: job}
        self._poller.register(job.pidfd, select.POLLIN)
        self._poller.register(connection, select.POLLRDHUP)

    def _fork(self, connection: int) -> int:
        kernel.unshare("pid")
        try:
            pid = os.fork()
            if pid == 0:
                _become_job(connection, self._config)
        finally:
            kernel.set_namespace(self._own_namespace, "pid")
        return pid

    def _attend(self, descriptor: int, job: _Running) -> None:
        if descriptor == job.connection:
            self._forget(descriptor)
            signal.pidfd_send_signal(job.pidfd, signal.SIGKILL)
            return
        self._forget(job.pidfd)
        if job.connection in self._jobs:
            self._forget(job.connection)
        job.report()

    def _forget(self, descriptor: int) -> None:
        self._poller.unregister(descriptor)
        del self._jobs[descriptor]


def _become_job(connection: int, config: ServerConfig) -> NoReturn:
    """Takes the plan and the descriptors from the supervisor and goes its way."""
    try:
        received = socket.socket(fileno=connection)
        plan, _ = receive_message(received, 0)
        supervisor, *given = receive_descriptors(received, 5) or []
        run_confined(Confinement(**plan), config, Given(*given), supervisor)
    finally:
        os._exit(71)
