"""The sandbox: scripts in, executions out."""

import os
import sys
import threading
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NoReturn, overload

from wmrl_envs.autoresearch.sandbox import paths
from wmrl_envs.autoresearch.sandbox.client import Flight, ForkServer, land, launch
from wmrl_envs.autoresearch.sandbox.dispatch import Dispatcher, Result
from wmrl_envs.autoresearch.sandbox.jobs import Execution, Job, Limits
from wmrl_envs.autoresearch.sandbox.levels import LEVELS, Level, layer_names, levels_down_to
from wmrl_envs.autoresearch.sandbox.report import SandboxReport
from wmrl_envs.errors import SandboxError, SandboxUnavailable

__all__ = ["BACKENDS", "DEFAULT_PRELOAD", "Sandbox"]

BACKENDS: Final = ("auto", "forkserver")
_SKLEARN = (
    "compose", "decomposition", "discriminant_analysis", "dummy", "ensemble",
    "feature_extraction.text", "feature_selection", "gaussian_process", "impute", "isotonic",
    "kernel_approximation", "kernel_ridge", "linear_model", "metrics", "model_selection",
    "multiclass", "multioutput", "naive_bayes", "neighbors", "neural_network", "pipeline",
    "preprocessing", "svm", "tree",
)  # fmt: skip
DEFAULT_PRELOAD: Final[tuple[str, ...]] = (
    "numpy", "pandas", "scipy.sparse", "scipy.stats", "scipy.optimize",
    *(f"sklearn.{name}" for name in _SKLEARN),
)  # fmt: skip
"""What small data-science scripts import; a script may import anything else that is installed."""

_DROP_UID = 61000
_PROBE = Job("pass", artifact="probe")
_PROBE_LIMITS = Limits(wall_s=30.0)


class Sandbox:
    r"""Runs untrusted Python scripts in a warm interpreter, each closed off by the kernel.

    A fork server has imported ``preload``; every job is forked from it and enters its own
    namespaces, private root and limits before it runs a line of the script. The server starts at
    the first use and ends with :meth:`close` or with this process, however that ends. A server that
    died is started again by the next job; the jobs that it had are a :class:`SandboxError`.

    All methods are thread-safe. The object is a handle to processes: copies are the same sandbox,
    and it cannot be pickled.

    Args:
        backend: ``"auto"`` or ``"forkserver"``.
        min_level: The weakest isolation that is accepted. ``"namespaces"`` is all layers;
            ``"landlock"`` goes without namespaces, private root and disk quota. What is there is
            found by entering it. Where a kernel has no Landlock, ``"namespaces"`` does without, and
            :meth:`report` says so.
        workers: How many jobs :meth:`run_many` keeps running at once.
        preload: Modules to import once.
        limits: The limits of jobs that bring none.
        allow_unsafe: Accept, with a warning, resource limits alone.
        hidden: What no job may read even where it lies inside the Python installation: absolute or
            ``~`` paths, or ``"package:relative/path"``.

    Raises:
        ValueError: An argument is not of the form above.

    Example:
        >>> with Sandbox(preload=()) as sandbox:
        ...     execution = sandbox.run("print(6 * 7)")
        >>> execution.status, execution.stdout
        ('ok', '42\n')
    """

    def __init__(
        self,
        backend: str = "auto",
        *,
        min_level: Level = "namespaces",
        workers: int = 2,
        preload: Sequence[str] = DEFAULT_PRELOAD,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        allow_unsafe: bool = False,
        hidden: Sequence[str] = paths.DEFAULT_HIDDEN,
    ) -> None:
        if backend not in BACKENDS:
            raise ValueError(f"backend must be one of {BACKENDS}, got {backend!r}")
        if not isinstance(workers, int) or workers < 1:
            raise ValueError(f"workers must be a positive int, got {workers!r}")
        self.workers = workers
        self.limits = limits
        self._levels = levels_down_to(min_level, allow_unsafe)
        self._preload = _module_names(preload)
        self._hidden = paths.resolve_hidden(hidden)
        self._lock = threading.RLock()
        self._server: ForkServer | None = None
        self._report: SandboxReport | None = None
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._may_restart = True
        self._closed = False

    def run(
        self,
        code: str,
        files: Mapping[str, bytes] | None = None,
        ro_data: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        artifact: str = "submission.csv",
    ) -> Execution:
        """Runs one script; the arguments are those of :class:`Job`.

        Raises:
            SandboxUnavailable: The first job of all found a layer missing.
            SandboxError: The harness failed; the script is not to blame.
            ValueError: An argument is not of the form that :class:`Job` asks for.
        """
        job = Job(code, files or {}, ro_data or {}, limits, seed, artifact)
        return next(self.run_many([job]))

    @overload
    def run_many(
        self, jobs: Iterable[Job], *, on_error: Literal["raise"] = "raise"
    ) -> Iterator[Execution]: ...

    @overload
    def run_many(
        self, jobs: Iterable[Job], *, on_error: Literal["return"]
    ) -> Iterator[Execution | SandboxError]: ...

    def run_many(
        self, jobs: Iterable[Job], *, on_error: Literal["raise", "return"] = "raise"
    ) -> Iterator[Result]:
        """Runs jobs, ``workers`` at once, and yields their executions in the order of the jobs.

        Args:
            jobs: Taken as places become free.
            on_error: A fault of the harness is raised at its place in the order, or yielded there.

        Raises:
            SandboxUnavailable: The first job of all found a layer missing.
            SandboxError: The harness failed and ``on_error`` is ``"raise"``.
        """
        if on_error not in ("raise", "return"):
            raise ValueError(f"on_error must be 'raise' or 'return', got {on_error!r}")
        return self._results(jobs, on_error == "raise")

    def _results(self, jobs: Iterable[Job], raising: bool) -> Iterator[Result]:
        results = Dispatcher(self._send, self._receive, self.workers).run(jobs)
        try:
            for result in results:
                if raising and isinstance(result, SandboxError):
                    raise result
                yield result
        finally:
            results.close()  # type: ignore[attr-defined]

    def report(self) -> SandboxReport:
        """Which layers are live; starts the server if need be."""
        with self._lock:
            self._ensure_server()
            assert self._report is not None
            return self._report

    def close(self) -> None:
        """Ends the server and every job; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._discard(self._server)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __copy__(self) -> "Sandbox":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Sandbox":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Sandbox is a handle to processes and cannot be pickled")

    def _send(self, index: int, job: Job) -> Flight:
        limits = job.limits or self.limits
        server = self._ensure_server()
        try:
            return launch(server, job, limits, index)
        except OSError:
            self._discard(server)
        try:
            return launch(self._ensure_server(), job, limits, index)
        except OSError as error:
            raise SandboxError(f"the fork server does not take jobs: {error}") from error

    def _receive(self, flight: Flight) -> Execution:
        assert self._report is not None
        try:
            execution = land(flight, self._report.backend, self._report.layers)
        except SandboxUnavailable as error:
            # The probe has entered every layer, so this is an exhausted host, not a missing layer.
            raise SandboxError(str(error)) from error
        self._may_restart = True
        return execution

    def _ensure_server(self) -> ForkServer:
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed")
            if self._server is not None and not self._server.alive:
                self._discard(self._server)
            if self._server is None:
                self._server = self._start() if self._report is None else self._restart()
                self._finalizer = weakref.finalize(self, self._server.stop)
            return self._server

    def _discard(self, server: ForkServer | None) -> None:
        with self._lock:
            if server is not None and server is self._server and self._finalizer is not None:
                self._server = None
                self._finalizer()

    def _start(self) -> ForkServer:
        """Tries the levels, strongest first."""
        if sys.platform != "linux":
            raise SandboxUnavailable(
                f"the fork server needs Linux namespaces, and this is {sys.platform}; "
                "run in a Linux virtual machine or container"
            )
        refused: list[str] = []
        for level in self._levels:
            server = self._spawn(level)
            try:
                land(launch(server, _PROBE, _PROBE_LIMITS), "probe", ())
            except SandboxUnavailable as error:
                server.stop()
                refused.append(f"{level}: {error}")
                continue
            except BaseException:
                server.stop()
                raise
            self._report = _describe(server, level, tuple(refused))
            return server
        raise SandboxUnavailable("; ".join(refused))

    def _restart(self) -> ForkServer:
        """Once, until a job has come back."""
        if not self._may_restart:
            raise SandboxError("the fork server died again before any job came back")
        self._may_restart = False
        assert self._report is not None
        server = self._spawn(self._report.level)
        self._report = _describe(server, self._report.level, self._report.refused)
        return server

    def _spawn(self, level: Level) -> ForkServer:
        if level == "unsafe":
            warnings.warn(
                "the sandbox runs scripts with resource limits alone: they can read and write all "
                "that this user can",
                stacklevel=2,
            )
        environment = paths.server_environment(os.environ)
        request = {
            "layers": LEVELS[level],
            "path": paths.import_path(),
            "system": paths.system_paths(),
            "hidden": self._hidden,
            "environment": environment,
            "preload": self._preload,
            "drop_uid": _DROP_UID,
        }
        return ForkServer(request, environment)


def _module_names(preload: Sequence[str]) -> list[str]:
    if isinstance(preload, str) or not all(isinstance(name, str) for name in preload):
        raise ValueError(f"preload must be a sequence of module names, got {preload!r}")
    return list(preload)


def _describe(server: ForkServer, level: Level, refused: tuple[str, ...]) -> SandboxReport:
    live = server.greeting["layers"]
    missing = tuple(
        f"{layer}: this kernel has none" for layer in LEVELS[level] if layer not in live
    )
    return SandboxReport(
        backend="forkserver",
        level=level,
        layers=layer_names(live),
        refused=refused + missing,
        landlock_abi=server.greeting["landlock_abi"],
        preload_s=server.greeting["preload_s"],
        server_pid=server.pid,
    )
