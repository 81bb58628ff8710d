"""The sandbox: scripts in, executions out."""

import os
from collections.abc import Generator, Iterable, Sequence
from typing import Final

from wmrl_envs.autoresearch.sandbox import paths
from wmrl_envs.autoresearch.sandbox.backends import Blueprint, candidates
from wmrl_envs.autoresearch.sandbox.base import JobRunner
from wmrl_envs.autoresearch.sandbox.dispatch import FlightCarrier, InOrder, Result
from wmrl_envs.autoresearch.sandbox.interpreter import Interpreter
from wmrl_envs.autoresearch.sandbox.jobs import Job, Limits
from wmrl_envs.autoresearch.sandbox.keeper import ServerKeeper
from wmrl_envs.autoresearch.sandbox.levels import Level
from wmrl_envs.autoresearch.sandbox.report import SandboxReport

__all__ = ["DEFAULT_PRELOAD", "Sandbox"]

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


class Sandbox(JobRunner):
    r"""Runs untrusted Python scripts, each closed off by the kernel.

    A fork server has imported ``preload``; every job is forked from it and enters its own
    namespaces, private root and limits before it runs a line of the script. Where namespaces are
    allowed to bubblewrap alone, or another interpreter is wanted, bubblewrap enters them and starts
    an interpreter a job, which takes as long as its imports do. The server starts at the first use
    and ends with :meth:`close` or with this process, however that ends. A server that died is
    started again by the next job; the jobs that it had are a :class:`SandboxError`.

    All methods are thread-safe. The object is a handle to processes: copies are the same sandbox,
    and it cannot be pickled.

    Args:
        backend: ``"forkserver"``, ``"bubblewrap"``, or ``"auto"``: the first of the two that a
            trial job can enter, and below that what ``min_level`` allows.
        min_level: The weakest isolation that is accepted. ``"namespaces"`` is all layers;
            ``"landlock"`` goes without namespaces, private root and disk quota. What is there is
            found by entering it. Where a kernel has no Landlock, ``"namespaces"`` does without, and
            :meth:`report` says so.
        workers: How many jobs :meth:`run_many` keeps running at once.
        preload: Modules that the fork server imports once.
        limits: The limits of jobs that bring none.
        allow_unsafe: Accept, with a warning, resource limits alone.
        hidden: What no job may read even where it lies inside the Python installation: absolute or
            ``~`` paths, or ``"package:relative/path"``.
        python: The interpreter of the jobs, a path or a name on the search path; None for this
            process's. Another than that is run by bubblewrap.

    Attributes:
        python: Path of the interpreter of the jobs.

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
        python: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(workers, int) or workers < 1:
            raise ValueError(f"workers must be a positive int, got {workers!r}")
        interpreter = Interpreter.current() if python is None else Interpreter.find(python)
        wanted = candidates(backend, min_level, allow_unsafe, interpreter)
        names = _module_names(preload)
        blueprint = Blueprint(interpreter, names, paths.resolve_hidden(hidden, interpreter))
        self.python = interpreter.executable
        self.workers = workers
        self.limits = limits
        self._keeper = ServerKeeper(wanted, blueprint)

    def report(self) -> SandboxReport:
        """Which layers are live; starts the server if need be."""
        return self._keeper.report()

    def close(self) -> None:
        """Ends the server and every job; a second call does nothing."""
        self._keeper.close()

    def _results(self, jobs: Iterable[Job]) -> Generator[Result, None, None]:
        carrier = FlightCarrier(
            lambda index, job: self._keeper.send(index, job, job.limits or self.limits),
            self._keeper.receive,
        )
        return InOrder(carrier, self.workers).run(jobs)


def _module_names(preload: Sequence[str]) -> list[str]:
    if isinstance(preload, str) or not all(isinstance(name, str) for name in preload):
        raise ValueError(f"preload must be a sequence of module names, got {preload!r}")
    return list(preload)
