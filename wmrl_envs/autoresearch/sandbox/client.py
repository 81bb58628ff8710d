"""The trainer's end: starts a fork server, hands it jobs, reads what comes back."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from wmrl_envs.autoresearch.sandbox.forkserver import protocol
from wmrl_envs.autoresearch.sandbox.jobs import ENTRY, STATUSES, Execution, Job, Limits
from wmrl_envs.autoresearch.sandbox.paths import server_folder
from wmrl_envs.errors import SandboxError, SandboxUnavailable

__all__ = ["Flight", "ForkServer", "decode", "encode", "land", "launch"]

_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); from forkserver.main import main; "
    "sys.path.remove(sys.argv[1]); main()"
)
_START_TIMEOUT_S = 300.0
_STOP_TIMEOUT_S = 5.0
_READ_TIMEOUT_S = 30.0
_HARNESS_GRACE_S = 90.0
_LONGEST_ERROR = 2000
_KINDS: dict[str, Any] = {
    "exit_code": int,
    "stdout": str,
    "stderr": str,
    "wall_s": int | float,
    "cpu_s": int | float,
    "peak_mb": int | float,
    "artifact_error": str | None,
}


class ForkServer:
    """A running fork server.

    Args:
        request: The configuration; see ``forkserver.main``.
        environment: The whole environment of the process.

    Raises:
        SandboxError: It does not start, or a module of ``preload`` cannot be imported.
    """

    def __init__(self, request: dict[str, Any], environment: dict[str, str]) -> None:
        self._owner = os.getpid()
        self._log = tempfile.TemporaryFile()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-c", _BOOT, server_folder()],
                stdin=theirs.fileno(), stdout=self._log, stderr=self._log, cwd="/", env=environment,
                start_new_session=True,
            )  # fmt: skip
        try:
            self.greeting = self._greet(request)
        except BaseException:
            self.stop()
            raise

    def _greet(self, request: dict[str, Any]) -> dict[str, Any]:
        self._control.settimeout(_START_TIMEOUT_S)
        try:
            protocol.send_message(self._control, {**request, "trainer_pid": self._owner})
            greeting, _ = protocol.receive_message(self._control, 0)
        except (OSError, protocol.ProtocolError) as error:
            raise SandboxError(f"fork server did not start: {error}; {self._tail()}") from error
        if "error" in greeting:
            raise SandboxError(f"fork server did not start: {greeting['error']}")
        self._control.settimeout(_READ_TIMEOUT_S)
        return greeting

    def _tail(self) -> str:
        self._log.seek(0)
        return self._log.read()[-_LONGEST_ERROR:].decode("utf-8", "replace").strip()

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return int(self._process.pid)

    @property
    def alive(self) -> bool:
        """False once the process has ended."""
        return self._process.poll() is None

    def connect(self) -> socket.socket:
        """A socket to a new supervisor.

        Raises:
            OSError: The server is gone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                protocol.send_descriptor(self._control, theirs.fileno())
            except OSError:
                ours.close()
                raise
        return ours

    def stop(self) -> None:
        """Ends the server and every job; a forked copy of this handle only lets go of it."""
        if os.getpid() == self._owner:
            try:
                self._control.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the server is gone already
            try:
                self._process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._control.close()
        self._log.close()


@dataclass
class Flight:
    """A job on its way: the socket to its supervisor, and when to give up on that."""

    index: int
    connection: socket.socket
    limits: Limits
    deadline: float

    def close(self) -> None:
        """Lets go of the job; a supervisor whose job still runs ends it."""
        self.connection.close()


def launch(server: ForkServer, job: Job, limits: Limits, index: int = 0) -> Flight:
    """Sends a job to a new supervisor.

    Raises:
        OSError: The server is gone.
        ValueError: A directory of ``job.ro_data`` does not exist.
    """
    header, parts = encode(job, limits)
    connection = server.connect()
    try:
        connection.settimeout(_READ_TIMEOUT_S)
        protocol.send_message(connection, header, parts)
    except BaseException:
        connection.close()
        raise
    return Flight(index, connection, limits, time.monotonic() + limits.wall_s + _HARNESS_GRACE_S)


def encode(job: Job, limits: Limits) -> tuple[dict[str, Any], list[bytes]]:
    """A job as a message."""
    files = {ENTRY: job.code.encode("utf-8", "surrogatepass"), **job.files}
    header = {
        "files": [(name, len(content)) for name, content in files.items()],
        "data": {_existing(path): place for path, place in job.ro_data.items()},
        "hidden": [os.path.realpath(path) for path in job.hidden],
        "limits": vars(limits),
        "seed": job.seed,
        "artifact": job.artifact,
    }
    return header, list(files.values())


def _existing(path: str) -> str:
    if not os.path.isdir(path):
        raise ValueError(f"ro_data names {str(path)!r}, which is not a directory")
    return os.path.realpath(path)


def land(flight: Flight, backend: str, layers: tuple[str, ...]) -> Execution:
    """Reads the outcome of a job whose socket has become readable, and closes it.

    Raises:
        SandboxUnavailable: A kernel primitive was refused.
        SandboxError: The supervisor died, failed, or sent what is no outcome.
    """
    try:
        limit = flight.limits.artifact_mb << 20
        header, artifact = protocol.receive_message(flight.connection, limit)
        return decode(header, artifact, backend, layers)
    except (OSError, protocol.ProtocolError) as error:
        raise SandboxError(f"the job's supervisor ended before it answered: {error}") from error
    finally:
        flight.close()


def decode(
    header: dict[str, Any], artifact: bytes, backend: str, layers: tuple[str, ...]
) -> Execution:
    """An outcome from its message.

    Raises:
        SandboxUnavailable: The message says that a kernel primitive was refused.
        SandboxError: The message says that the harness failed, or is no outcome.
    """
    harness = header.get("harness")
    if isinstance(harness, dict):
        kind = SandboxUnavailable if harness.get("refused") else SandboxError
        raise kind(str(harness.get("error")))
    try:
        execution = Execution(
            **header["execution"],
            artifact=artifact if header["has_artifact"] else None,
            backend=backend,
            layers=layers,
        )
    except (KeyError, TypeError) as error:
        raise SandboxError(f"the supervisor's answer is no outcome: {header!r:.500}") from error
    if not all(isinstance(getattr(execution, name), kind) for name, kind in _KINDS.items()):
        raise SandboxError(f"the supervisor's answer has a wrong type: {header!r:.500}")
    if execution.status not in STATUSES:
        raise SandboxError(f"the supervisor's answer has status {execution.status!r:.100}")
    return execution
