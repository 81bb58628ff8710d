"""The fork server: a small process that forks one supervisor a job, and a warm one beside it.

It reads a configuration from the socket that is its standard input, then one byte and one
descriptor a job. What the job is, it never reads. It imports nothing but the standard library, so
that a supervisor, forked from it, costs a tenth of what a fork of the scientific stack costs.
"""

import os
import select
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from . import landlock
from . import primitives as kernel
from .config import ServerConfig, configure
from .confinement import describe
from .launch import Launcher, launch_here
from .preload import preload, settle
from .protocol import ProtocolError, receive_descriptors, receive_message, send_message
from .supervisor import BODY_LIMIT, supervise
from .warm import WarmProcess

__all__ = ["main"]

_REFUSAL_TIMEOUT_S = 30.0


def main() -> None:
    """Serves until the trainer closes its end of the socket or dies."""
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request, _ = receive_message(control, 0)
    parent = _watch_parent(request["trainer_pid"])
    sys.path[:] = request["path"]
    try:
        config = configure(request)
        _enter_own_user_namespace(config)
        server = _Server(control, parent, config)
        seconds = server.warm_up(request["preload"])
    except kernel.PrimitiveError as error:
        _refuse(control, parent, error)
        return
    except Exception as error:
        send_message(control, {"error": f"{type(error).__name__}: {error}"})
        return
    send_message(control, _greeting(seconds, config.layers))
    server.serve()


def _greeting(seconds: float, layers: frozenset[str]) -> dict[str, Any]:
    return {"preload_s": seconds, "landlock_abi": landlock.abi(), "layers": sorted(layers)}


def _watch_parent(pid: int) -> int:
    """A descriptor that becomes readable when the trainer ends.

    The socket alone does not tell: a process that the trainer forked holds a copy of its other end.
    PR_SET_PDEATHSIG does not do either: it fires when the *thread* that started us ends.
    """
    descriptor = os.pidfd_open(pid)
    if os.getppid() != pid:
        sys.exit(0)
    return descriptor


def _enter_own_user_namespace(config: ServerConfig) -> None:
    """An ordinary user may fork into a pid namespace only from a user namespace of its own.

    Nothing but the namespaces made below it belongs to that one, so it grants nothing on the host.
    """
    if config.forks_into_namespaces and config.drop_uid is None:
        uid, gid = os.getuid(), os.getgid()
        kernel.unshare("user")
        kernel.map_ids((uid, uid), (gid, gid))


def _refuse(control: socket.socket, parent: int, error: kernel.PrimitiveError) -> None:
    """Answers every job with what the kernel refused."""
    send_message(control, _greeting(0.0, frozenset()))
    for job in _jobs(control, (parent,)):
        with socket.socket(fileno=job) as connection, suppress(OSError, ProtocolError):
            connection.settimeout(_REFUSAL_TIMEOUT_S)
            receive_message(connection, BODY_LIMIT)  # an answer before its question is lost
            send_message(connection, {"harness": describe(error)})


def _jobs(control: socket.socket, ends: tuple[int, ...]) -> Any:
    """The descriptors of jobs, until the control socket or one of ``ends`` says that it is over."""
    poller = select.poll()
    for descriptor in (control.fileno(), *ends):
        poller.register(descriptor, select.POLLIN)
    while not any(descriptor in ends for descriptor, _ in poller.poll()):
        descriptors = receive_descriptors(control, 1)
        if descriptors is None:
            return
        yield descriptors[0]


def _wait_for_supervisors(*_: object) -> None:
    """Waiting, unlike ignoring, adds their CPU time to this process's."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


class _Server:
    """Forks a supervisor a job, from itself or, without namespaces, from a warm process."""

    def __init__(self, control: socket.socket, parent: int, config: ServerConfig) -> None:
        self._control = control
        self._config = config
        self._ends: tuple[int, ...] = (parent,)
        self._launch: Launcher = launch_here

    def warm_up(self, modules: list[str]) -> float:
        """Imports ``modules`` where jobs are forked; returns the seconds that it took."""
        if not self._config.forks_into_namespaces:
            return preload(modules)
        warm = WarmProcess(modules, self._config, (self._control.fileno(), *self._ends))
        self._ends = (*self._ends, warm.pidfd)
        self._launch = warm.launch
        settle()
        return warm.preload_s

    def serve(self) -> None:
        """Serves until the trainer or the warm process is gone."""
        signal.signal(signal.SIGCHLD, _wait_for_supervisors)
        myself = os.pidfd_open(os.getpid())
        for job in _jobs(self._control, self._ends):
            if os.fork() == 0:
                self._supervise_and_exit(job, myself)
            os.close(job)

    def _supervise_and_exit(self, job: int, myself: int) -> None:
        code = 70
        try:
            self._control.close()
            for descriptor in self._ends:
                os.close(descriptor)
            with socket.socket(fileno=job) as connection:
                supervise(connection, self._config, myself, self._launch)
            code = 0
        finally:
            os._exit(code)
