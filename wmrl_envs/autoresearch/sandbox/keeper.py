"""Keeps one server alive: finds what can be had by trying it, starts it again when it died."""

import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from wmrl_envs.autoresearch.sandbox.backends import Blueprint, Candidate
from wmrl_envs.autoresearch.sandbox.client import Flight, ForkServer, land, launch
from wmrl_envs.autoresearch.sandbox.jobs import Execution, Job, Limits
from wmrl_envs.autoresearch.sandbox.levels import LEVELS, layer_names
from wmrl_envs.autoresearch.sandbox.report import SandboxReport
from wmrl_envs.errors import SandboxError, SandboxUnavailable

__all__ = ["ServerKeeper"]

_PROBE = Job("pass", artifact="probe")
_PROBE_LIMITS = Limits(wall_s=30.0)
_CLOSED = (
    "the sandbox is closed; a sandbox that environments share must stay open until they are closed"
)


class ServerKeeper:
    """The server of one sandbox; thread-safe.

    It starts at the first use and ends with :meth:`close`, with this object or with this process.

    Args:
        wanted: What to try, strongest first.
        blueprint: What servers are made from.
    """

    def __init__(self, wanted: Sequence[Candidate], blueprint: Blueprint) -> None:
        self._wanted = wanted
        self._blueprint = blueprint
        self._lock = threading.RLock()
        self._server: ForkServer | None = None
        self._chosen: Candidate | None = None
        self._report: SandboxReport | None = None
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._may_restart = True
        self._closed = False

    def report(self) -> SandboxReport:
        """What the server says of itself; starts it if need be."""
        with self._lock:
            self._running()
            assert self._report is not None
            return self._report

    def send(self, index: int, job: Job, limits: Limits) -> Flight:
        """Launches a job, if need be in a new server.

        Raises:
            SandboxUnavailable: Nothing of what is wanted can be had.
            SandboxError: The server takes no jobs.
            ValueError: This was closed.
        """
        server = self._running()
        try:
            return launch(server, job, limits, index)
        except OSError:
            self._discard(server)
        try:
            return launch(self._running(), job, limits, index)
        except OSError as error:
            raise SandboxError(f"the fork server does not take jobs: {error}") from error

    def receive(self, flight: Flight) -> Execution:
        """Reads the outcome of a job.

        Raises:
            SandboxError: The harness failed.
            ValueError: This was closed while the job was on its way.
        """
        assert self._report is not None
        try:
            execution = land(flight, self._report.backend, self._report.layers)
        except (SandboxError, SandboxUnavailable) as error:
            self._refuse_if_closed()
            # The probe has entered every layer, so this is an exhausted host, not a missing layer.
            raise SandboxError(str(error)) from error
        self._may_restart = True
        return execution

    def close(self) -> None:
        """Ends the server and every job; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._discard(self._server)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ValueError(_CLOSED)

    def _running(self) -> ForkServer:
        with self._lock:
            self._refuse_if_closed()
            if self._server is not None and not self._server.alive:
                self._discard(self._server)
            if self._server is None:
                self._server = self._start() if self._chosen is None else self._restart()
                self._finalizer = weakref.finalize(self, self._server.stop)
            return self._server

    def _discard(self, server: ForkServer | None) -> None:
        with self._lock:
            if server is not None and server is self._server and self._finalizer is not None:
                self._server = None
                self._finalizer()

    def _start(self) -> ForkServer:
        """Tries what is wanted, one after the other."""
        if sys.platform != "linux":
            raise SandboxUnavailable(
                f"the sandbox needs Linux namespaces, and this is {sys.platform}; "
                "run in a Linux virtual machine or container"
            )
        refused: list[str] = []
        for candidate in self._wanted:
            try:
                server = self._probed(candidate)
            except SandboxUnavailable as error:
                refused.append(f"{candidate}: {error}")
                continue
            self._chosen = candidate
            self._report = _describe(server, candidate, tuple(refused))
            return server
        raise SandboxUnavailable("; ".join(refused))

    def _probed(self, candidate: Candidate) -> ForkServer:
        """A server that has run a job."""
        server = self._spawn(candidate)
        try:
            land(launch(server, _PROBE, _PROBE_LIMITS), "probe", ())
        except BaseException:
            server.stop()
            raise
        return server

    def _restart(self) -> ForkServer:
        """Once, until a job has come back."""
        if not self._may_restart:
            raise SandboxError("the fork server died again before any job came back")
        self._may_restart = False
        assert self._chosen is not None and self._report is not None
        server = self._spawn(self._chosen)
        self._report = _describe(server, self._chosen, self._report.refused)
        return server

    def _spawn(self, candidate: Candidate) -> ForkServer:
        return ForkServer(*self._blueprint.server(candidate))


def _describe(server: ForkServer, candidate: Candidate, refused: tuple[str, ...]) -> SandboxReport:
    live = server.greeting["layers"]
    missing = tuple(
        f"{layer}: this kernel has none" for layer in LEVELS[candidate.level] if layer not in live
    )
    return SandboxReport(
        backend=candidate.backend,
        level=candidate.level,
        layers=layer_names(live),
        refused=refused + tuple(line for line in missing if line not in refused),
        landlock_abi=server.greeting["landlock_abi"],
        preload_s=server.greeting["preload_s"],
        server_pid=server.pid,
    )
