"""Programs in, outcomes out: what the single and the vector environment share."""

import logging
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from wmrl_envs.autoresearch.checks import checked_int
from wmrl_envs.autoresearch.outcome import Outcome, Submission, grade_execution
from wmrl_envs.autoresearch.outcome_cache import CacheSpecifier, OutcomeCache
from wmrl_envs.autoresearch.sandbox import Job, JobRunner, Limits, Sandbox
from wmrl_envs.autoresearch.sandbox.interpreter import Interpreter
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import SandboxError

__all__ = ["Executor", "Metrics"]

_logger = logging.getLogger(__name__)


@dataclass
class Metrics:
    """What an executor has done so far.

    Attributes:
        executions: Submissions that were executed, those answered by the cache included.
        cached_executions: Those of them that the cache answered.
        failed_executions: Submissions that stayed ungraded because the sandbox failed.
        execution_cpu_s: CPU seconds; a cached submission is charged those of its first run.
        execution_wall_s: Wall seconds, summed over the submissions and charged alike.
    """

    executions: int = 0
    cached_executions: int = 0
    failed_executions: int = 0
    execution_cpu_s: float = 0.0
    execution_wall_s: float = 0.0

    @property
    def cache_hit_rate(self) -> float:
        """The part of the executions that the cache answered, in [0, 1]; 0 before the first."""
        return self.cached_executions / self.executions if self.executions else 0.0

    def count(self, outcome: Outcome, cached: bool) -> None:
        """Adds one submission."""
        if outcome.grade is None:
            self.failed_executions += 1
            return
        self.executions += 1
        self.cached_executions += int(cached)
        self.execution_cpu_s += outcome.cpu_s
        self.execution_wall_s += outcome.wall_s


class Executor:
    """Executes and grades batches of submissions, equal ones once.

    Args:
        sandbox: A sandbox to share, the keyword arguments of an own one, or None for the default
            one. An own sandbox starts with the first execution and is stopped by :meth:`close`.
        limits: Limits of one execution, or some of their fields. What is not given is the task's
            time limit (wall time, and CPU time per thread), else the sandbox's default.
        cache: Remember repeatable executions (those that neither ran out of time nor of memory, nor
            were killed): True in memory, a path also in a file, which later runs and other
            processes share, False not at all. A change of the data, of the limits or of a library
            makes an execution another one. What is remembered hides how much an unseeded program's
            outcome varies.
        execution_seed: The seed that every program is started with.
        workers: Programs that an own sandbox executes at once.
        feedback: Grade valid submissions on the feedback half of the answers too.

    Raises:
        ExecutionCacheError: The file ``cache`` cannot be used.
        TypeError: An argument has the wrong type.
        ValueError: ``execution_seed`` is negative, or ``workers`` is below 1.
    """

    def __init__(
        self,
        sandbox: JobRunner | Mapping[str, Any] | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        cache: CacheSpecifier = True,
        execution_seed: int = 0,
        workers: int = 1,
        feedback: bool = True,
    ) -> None:
        self._cache = OutcomeCache(cache, feedback)
        self._seed = checked_int("execution_seed", execution_seed, least=0)
        self._feedback = feedback
        workers = checked_int("workers", workers, least=1)
        self._own_arguments = _own_arguments(sandbox, workers)
        self._sandbox = _as_sandbox(sandbox, self._own_arguments)
        self._limits = _checked_limits(limits)
        self._metrics = Metrics()

    def resolve(self, proposals: Sequence[Submission | Outcome]) -> list[Outcome]:
        """Executes the submissions among the proposals and passes the outcomes through.

        Args:
            proposals: One entry an episode.

        Returns:
            The outcomes, in the same order; without a grade where the sandbox failed twice.

        Raises:
            ExecutionCacheError: The file of remembered executions cannot be used.
            SandboxUnavailable: The machine lacks a layer of isolation that the sandbox insists on.
            ValueError: The sandbox was closed.
        """
        submissions = [p for p in proposals if isinstance(p, Submission)]
        outcomes = iter(self._run(submissions))
        return [next(outcomes) if isinstance(p, Submission) else p for p in proposals]

    def metrics(self) -> dict[str, int | float]:
        """The fields of :class:`Metrics` and ``cache_hit_rate``, as a dictionary."""
        return {**asdict(self._metrics), "cache_hit_rate": self._metrics.cache_hit_rate}

    def close(self) -> None:
        """Stops the sandbox if it is this executor's own; may be called twice."""
        self._cache.close()
        if self._own_arguments is not None:
            self._sandbox.close()

    def __getstate__(self) -> dict[str, Any]:
        """A copy gets an own sandbox where this one is its own: either may be closed alone."""
        own = {} if self._own_arguments is None else {"_sandbox": None}
        return {**self.__dict__, **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._own_arguments is not None:
            self._sandbox = Sandbox(**self._own_arguments)

    def _run(self, submissions: Sequence[Submission]) -> list[Outcome]:
        keys = [self._key(position, s) for position, s in enumerate(submissions)]
        asked = dict(zip(keys, submissions, strict=True))
        recalled = {key: self._cache.recall(key, asked[key]) for key in asked}
        known = {key: outcome for key, outcome in recalled.items() if outcome is not None}
        fresh = {key: submission for key, submission in asked.items() if key not in known}
        known |= self._execute(fresh)
        for key in keys:
            self._metrics.count(known[key], cached=fresh.pop(key, None) is None)
        return [known[key] for key in keys]

    def _key(self, position: int, submission: Submission) -> Hashable:
        limits = self._limits_of(submission.task)
        return self._cache.key(position, submission, self._seed, limits, self._foreign_python())

    def _foreign_python(self) -> str | None:
        """The programs' interpreter, where it is another one than this process's."""
        python = getattr(self._sandbox, "python", None)
        return None if python in (None, Interpreter.current().executable) else str(python)

    def _execute(self, submissions: Mapping[Hashable, Submission]) -> dict[Hashable, Outcome]:
        """Executes each submission, and once more those that the sandbox failed on."""
        outcomes = dict(self._attempt(submissions))
        failed = {key: submissions[key] for key in submissions if outcomes[key].grade is None}
        return outcomes | dict(self._attempt(failed))

    def _attempt(
        self, submissions: Mapping[Hashable, Submission]
    ) -> Iterator[tuple[Hashable, Outcome]]:
        jobs = [self._job(submission) for submission in submissions.values()]
        results = self._sandbox.run_many(jobs, on_error="return") if jobs else iter(())
        for (key, submission), result in zip(submissions.items(), results, strict=True):
            if isinstance(result, SandboxError):
                _logger.warning("the sandbox failed on a program: %s", result)
                yield key, Outcome.ungraded("the sandbox failed")
                continue
            outcome = grade_execution(submission.task, result, self._feedback)
            self._cache.remember(key, outcome, result)
            yield key, outcome

    def _job(self, submission: Submission) -> Job:
        task = submission.task
        return Job(
            code=submission.code,
            ro_data=task.mounts,
            limits=self._limits_of(task),
            seed=self._seed,
            hidden=(str(task.private_dir),),
        )

    def _limits_of(self, task: Task) -> Limits:
        if isinstance(self._limits, Limits):
            return self._limits
        base = self._sandbox.limits
        times = {"wall_s": task.time_limit, "cpu_s": task.time_limit * base.threads}
        return replace(base, **{**times, **self._limits})


def _own_arguments(
    sandbox: JobRunner | Mapping[str, Any] | None, workers: int
) -> dict[str, Any] | None:
    """The arguments of the executor's own sandbox; None where one is shared."""
    if sandbox is None or isinstance(sandbox, Mapping):
        return {"workers": workers, **(sandbox or {})}
    return None


def _as_sandbox(sandbox: Any, own_arguments: dict[str, Any] | None) -> JobRunner:
    if own_arguments is not None:
        return Sandbox(**own_arguments)
    if not callable(getattr(sandbox, "run_many", None)):
        raise TypeError(f"sandbox must be a Sandbox, its arguments or None, got {sandbox!r}")
    return cast("JobRunner", sandbox)


def _checked_limits(limits: Limits | Mapping[str, Any] | None) -> Limits | dict[str, Any]:
    if isinstance(limits, Limits):
        return limits
    if limits is not None and not isinstance(limits, Mapping):
        raise TypeError(f"limits must be Limits, their fields or None, got {limits!r}")
    Limits(**(limits or {}))
    return dict(limits or {})
