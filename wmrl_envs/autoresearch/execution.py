"""Programs in, outcomes out: what the single and the vector environment share."""

import logging
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from wmrl_envs.autoresearch.checks import checked_bool, checked_int
from wmrl_envs.autoresearch.outcome import Outcome, Submission, grade_execution
from wmrl_envs.autoresearch.sandbox import Job, Limits, Sandbox
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import SandboxError

__all__ = ["Executor", "Metrics"]

_logger = logging.getLogger(__name__)

_CACHE_SIZE = 16_384


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
        cache: Remember the outcomes of repeatable executions (those that neither ran out of time
            nor of memory), the latest 16,384 of them.
        execution_seed: The seed that every program is started with.
        workers: Programs that an own sandbox executes at once.
        feedback: Grade valid submissions on the feedback half of the answers too.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: ``execution_seed`` is negative, or ``workers`` is below 1.
    """

    def __init__(
        self,
        sandbox: Sandbox | Mapping[str, Any] | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        cache: bool = True,
        execution_seed: int = 0,
        workers: int = 1,
        feedback: bool = True,
    ) -> None:
        self._cache = checked_bool("cache", cache)
        self._seed = checked_int("execution_seed", execution_seed, least=0)
        self._feedback = feedback
        workers = checked_int("workers", workers, least=1)
        self._own_arguments = _own_arguments(sandbox, workers)
        self._sandbox = _as_sandbox(sandbox, self._own_arguments)
        self._limits = _checked_limits(limits)
        self._outcomes: OrderedDict[Hashable, Outcome] = OrderedDict()
        self._metrics = Metrics()

    def resolve(self, proposals: Sequence[Submission | Outcome]) -> list[Outcome]:
        """Executes the submissions among the proposals and passes the outcomes through.

        Args:
            proposals: One entry an episode.

        Returns:
            The outcomes, in the same order; without a grade where the sandbox failed twice.

        Raises:
            SandboxUnavailable: The machine lacks a layer of isolation that the sandbox insists on.
        """
        submissions = [p for p in proposals if isinstance(p, Submission)]
        outcomes = iter(self._run(submissions))
        return [next(outcomes) if isinstance(p, Submission) else p for p in proposals]

    def metrics(self) -> dict[str, int | float]:
        """The fields of :class:`Metrics`, as a dictionary."""
        return asdict(self._metrics)

    def close(self) -> None:
        """Stops the sandbox if it is this executor's own; may be called twice."""
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
        known = {key: self._outcomes[key] for key in keys if key in self._outcomes}
        fresh = {k: s for k, s in zip(keys, submissions, strict=True) if k not in known}
        known |= zip(fresh, self._execute(list(fresh.values())), strict=True)
        for key in keys:
            self._metrics.count(known[key], cached=fresh.pop(key, None) is None)
        self._remember(known)
        return [known[key] for key in keys]

    def _key(self, position: int, submission: Submission) -> Hashable:
        """Equal for submissions that may share an execution."""
        if not self._cache:
            return position
        task = submission.task
        return (task.name, submission.code, self._seed, self._limits_of(task))

    def _remember(self, outcomes: Mapping[Hashable, Outcome]) -> None:
        for key, outcome in outcomes.items():
            if self._cache and outcome.repeatable:
                self._outcomes[key] = outcome
                self._outcomes.move_to_end(key)
        while len(self._outcomes) > _CACHE_SIZE:
            self._outcomes.popitem(last=False)

    def _execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Executes each submission, and once more those that the sandbox failed on."""
        outcomes = list(self._attempt(submissions))
        failed = [i for i, outcome in enumerate(outcomes) if outcome.grade is None]
        again = self._attempt([submissions[i] for i in failed])
        for i, outcome in zip(failed, again, strict=True):
            outcomes[i] = outcome
        return outcomes

    def _attempt(self, submissions: Sequence[Submission]) -> Iterator[Outcome]:
        jobs = [self._job(submission) for submission in submissions]
        results = self._sandbox.run_many(jobs, on_error="return") if jobs else iter(())
        for submission, result in zip(submissions, results, strict=True):
            if isinstance(result, SandboxError):
                _logger.warning("the sandbox failed on a program: %s", result)
                yield Outcome.ungraded("the sandbox failed")
            else:
                yield grade_execution(submission.task, result, self._feedback)

    def _job(self, submission: Submission) -> Job:
        task = submission.task
        return Job(
            code=submission.code,
            ro_data=task.mounts,
            limits=self._limits_of(task),
            seed=self._seed,
        )

    def _limits_of(self, task: Task) -> Limits:
        if isinstance(self._limits, Limits):
            return self._limits
        base = self._sandbox.limits
        times = {"wall_s": task.time_limit, "cpu_s": task.time_limit * base.threads}
        return replace(base, **{**times, **self._limits})


def _own_arguments(
    sandbox: Sandbox | Mapping[str, Any] | None, workers: int
) -> dict[str, Any] | None:
    """The arguments of the executor's own sandbox; None where one is shared."""
    if sandbox is None or isinstance(sandbox, Mapping):
        return {"workers": workers, **(sandbox or {})}
    return None


def _as_sandbox(sandbox: Any, own_arguments: dict[str, Any] | None) -> Sandbox:
    if own_arguments is not None:
        return Sandbox(**own_arguments)
    if not callable(getattr(sandbox, "run_many", None)):
        raise TypeError(f"sandbox must be a Sandbox, its arguments or None, got {sandbox!r}")
    return cast("Sandbox", sandbox)


def _checked_limits(limits: Limits | Mapping[str, Any] | None) -> Limits | dict[str, Any]:
    if isinstance(limits, Limits):
        return limits
    if limits is not None and not isinstance(limits, Mapping):
        raise TypeError(f"limits must be Limits, their fields or None, got {limits!r}")
    Limits(**(limits or {}))
    return dict(limits or {})
