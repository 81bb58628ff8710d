"""What every sandbox offers: single jobs and batches of them, whatever runs them."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeVar, overload

from wmrl_envs.autoresearch.sandbox.dispatch import Result
from wmrl_envs.autoresearch.sandbox.jobs import Execution, Job, Limits
from wmrl_envs.autoresearch.sandbox.report import SandboxReport
from wmrl_envs.errors import SandboxError

__all__ = ["JobRunner"]

_Self = TypeVar("_Self", bound="JobRunner")


class JobRunner(ABC):
    """A place that runs jobs; a handle to processes, so copies are the same place.

    Attributes:
        workers: How many jobs :meth:`run_many` keeps running at once.
        limits: The limits of jobs that bring none.
    """

    workers: int
    limits: Limits

    @abstractmethod
    def report(self) -> SandboxReport:
        """Which layers are live; starts what is not running yet."""

    @abstractmethod
    def close(self) -> None:
        """Ends every process and every job; a second call does nothing."""

    @abstractmethod
    def _results(self, jobs: Iterable[Job]) -> Generator[Result, None, None]:
        """Yields a result for every job, in order."""

    def run(
        self,
        code: str,
        files: Mapping[str, bytes] | None = None,
        ro_data: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        artifact: str = "submission.csv",
        hidden: Sequence[str] = (),
    ) -> Execution:
        """Runs one script; the arguments are those of :class:`Job`.

        Raises:
            SandboxUnavailable: The first job of all found a layer missing.
            SandboxError: The harness failed; the script is not to blame.
            ValueError: An argument is not of the form that :class:`Job` asks for, or this is
                closed.
        """
        job = Job(code, files or {}, ro_data or {}, limits, seed, artifact, hidden)
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
            ValueError: This was closed, before or meanwhile: then no result can be had, and none
                is made up.
        """
        if on_error not in ("raise", "return"):
            raise ValueError(f"on_error must be 'raise' or 'return', got {on_error!r}")
        return self._checked(jobs, on_error == "raise")

    def _checked(self, jobs: Iterable[Job], raising: bool) -> Iterator[Result]:
        results = self._results(jobs)
        try:
            for result in results:
                if raising and isinstance(result, SandboxError):
                    raise result
                yield result
        finally:
            results.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is a handle to processes and cannot be pickled")
