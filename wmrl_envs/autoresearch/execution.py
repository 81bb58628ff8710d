"""Programs in, outcomes out: what the single and the vector environment share."""

import logging
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wmrl_envs.autoresearch.checks import checked_bool, checked_int
from wmrl_envs.autoresearch.outcome import Outcome, Submission, grade_execution
from wmrl_envs.autoresearch.sandbox import Job, Limits, Sandbox
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import SandboxError

__all__ = ["Executor", "Metrics"]

_logger = logging.getLogger(__name__)

_ATTEMPTS = 2
_CACHE_SIZE = 16_384
# Submissions in a row that the sandbox fails on before it is taken for dead.
_HOPELESS = 2
_DATA_MOUNT = "/data"


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
            one. An own sandbox is started by the first execution and stopped by :meth:`close`.
        limits: Limits of one execution, or their fields; None stands for the defaults with the
            task's time limit.
        cache: Remember the outcomes of repeatable executions (those that neither ran out of time
            nor of memory), the latest 16,384 of them.
        execution_seed: The seed that every program is started with.
        workers: Programs that an own sandbox executes at once.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: ``execution_seed`` is negative, or ``workers`` is below 1.
    """

    def __init__(
        self,
        sandbox: Any = None,
        limits: Limits | Mapping[str, Any] | None = None,
        cache: bool = True,
        execution_seed: int = 0,
        workers: int = 1,
    ) -> None:
        self._cache = checked_bool("cache", cache)
        self._seed = checked_int("execution_seed", execution_seed, least=0)
        self._limits = _as_limits(limits)
        workers = checked_int("workers", workers, least=1)
        self._own_sandbox = _own_sandbox_options(sandbox, workers)
        self._sandbox: Sandbox | None = None if self._own_sandbox is not None else sandbox
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
        """Stops the sandbox if this executor started it; may be called twice."""
        if self._own_sandbox is not None and self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

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
        if not self._cache:
            return position
        task = submission.task
        return (task.name, submission.code, self._seed, self._limits_of(task))

    def _remember(self, outcomes: Mapping[Hashable, Outcome]) -> None:
        if not self._cache:
            return
        for key, outcome in outcomes.items():
            if outcome.repeatable:
                self._outcomes[key] = outcome
                self._outcomes.move_to_end(key)
        while len(self._outcomes) > _CACHE_SIZE:
            self._outcomes.popitem(last=False)

    def _execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        attempts = hopeless = 0
        while len(outcomes) < len(submissions) and hopeless < _HOPELESS:
            done = len(outcomes)
            try:
                self._execute_into(outcomes, submissions[done:])
            except SandboxError as error:
                _logger.warning("the sandbox failed on a submission: %s", error)
                if len(outcomes) > done:
                    attempts = hopeless = 0
                attempts += 1
                if attempts == _ATTEMPTS:
                    outcomes.append(_infrastructure_failed())
                    attempts, hopeless = 0, hopeless + 1
        return outcomes + [_infrastructure_failed()] * (len(submissions) - len(outcomes))

    def _execute_into(self, outcomes: list[Outcome], submissions: Sequence[Submission]) -> None:
        expected = len(outcomes) + len(submissions)
        executions = self._running_sandbox().run_many([self._job(s) for s in submissions])
        for submission, execution in zip(submissions, executions, strict=False):
            outcomes.append(grade_execution(submission.task, execution))
        if len(outcomes) < expected:
            raise SandboxError(f"{expected - len(outcomes)} of {len(submissions)} jobs got lost")

    def _job(self, submission: Submission) -> Job:
        task = submission.task
        return Job(
            code=submission.code,
            ro_data={str(task.public_dir): _DATA_MOUNT},
            limits=self._limits_of(task),
            seed=self._seed,
        )

    def _limits_of(self, task: Task) -> Limits:
        if self._limits is not None:
            return self._limits
        return Limits(wall_s=task.time_limit, cpu_s=task.time_limit)

    def _running_sandbox(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = Sandbox(**self._own_sandbox or {})
        return self._sandbox


def _infrastructure_failed() -> Outcome:
    return Outcome.ungraded("the sandbox failed")


def _own_sandbox_options(sandbox: Any, workers: int) -> dict[str, Any] | None:
    if sandbox is None or isinstance(sandbox, Mapping):
        return {"workers": workers, **(sandbox or {})}
    if not callable(getattr(sandbox, "run_many", None)):
        raise TypeError(f"sandbox must be a Sandbox, its arguments or None, got {sandbox!r}")
    return None


def _as_limits(limits: Limits | Mapping[str, Any] | None) -> Limits | None:
    if isinstance(limits, Mapping):
        return Limits(**limits)
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits must be Limits, their fields or None, got {limits!r}")
    return limits
