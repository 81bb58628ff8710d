"""What an executor remembers: outcomes in memory and, if asked, executions in a file."""

import os
from collections import OrderedDict
from collections.abc import Hashable
from pathlib import Path
from typing import TypeAlias

from wmrl_envs.autoresearch.execution_cache import ExecutionCache
from wmrl_envs.autoresearch.execution_key import digest_folder, execution_key
from wmrl_envs.autoresearch.outcome import Outcome, Submission, grade_execution
from wmrl_envs.autoresearch.sandbox import Execution, Limits
from wmrl_envs.autoresearch.task import Task

__all__ = ["CacheSpecifier", "OutcomeCache"]

CacheSpecifier: TypeAlias = bool | str | os.PathLike[str]

_SIZE = 16_384


class OutcomeCache:
    """Remembers what became of repeatable executions.

    Args:
        cache: True for the latest 16,384 in memory; a path to keep executions in a file besides,
            see :class:`ExecutionCache`; False for none.
        feedback: Grade what comes from the file on the feedback half of the answers too.

    Raises:
        ExecutionCacheError: The file cannot be used.
        TypeError: ``cache`` is neither a bool nor a path.
    """

    def __init__(self, cache: CacheSpecifier, feedback: bool) -> None:
        if not isinstance(cache, bool | str | os.PathLike):
            raise TypeError(f"cache must be a bool or a path, got {cache!r}")
        self._enabled = cache is not False
        self._feedback = feedback
        self._file = None if isinstance(cache, bool) else ExecutionCache(cache)
        self._outcomes: OrderedDict[Hashable, Outcome] = OrderedDict()
        self._digests: dict[tuple[tuple[str, str], ...], str] = {}

    def key(
        self,
        position: int,
        submission: Submission,
        seed: int,
        limits: Limits,
        python: str | None = None,
    ) -> Hashable:
        """Equal for submissions that may share an execution; without a cache, for none."""
        if not self._enabled:
            return position
        task = submission.task
        return execution_key(task.name, self._data(task), submission.code, seed, limits, python)

    def _data(self, task: Task) -> str:
        """What stands for a task's data: a file outlives changes of them, the memory does not."""
        mounts = tuple(sorted(task.mounts.items()))
        if self._file is None:
            return repr(mounts)
        if mounts not in self._digests:
            digests = [(place, digest_folder(Path(folder))) for folder, place in mounts]
            self._digests[mounts] = repr(digests)
        return self._digests[mounts]

    def recall(self, key: Hashable, submission: Submission) -> Outcome | None:
        """The outcome of a key, from memory or graded anew from the file; None if unknown.

        Raises:
            ExecutionCacheError: The file cannot be used.
        """
        if key in self._outcomes:
            self._outcomes.move_to_end(key)
            return self._outcomes[key]
        execution = self._file.get(str(key)) if self._file is not None else None
        if execution is None:
            return None
        outcome = grade_execution(submission.task, execution, self._feedback)
        self.remember(key, outcome)
        return outcome

    def remember(self, key: Hashable, outcome: Outcome, execution: Execution | None = None) -> None:
        """Keeps an outcome, and the execution behind it, if that is repeatable.

        Raises:
            ExecutionCacheError: The file cannot be used.
        """
        if not (self._enabled and outcome.repeatable):
            return
        self._outcomes[key] = outcome
        self._outcomes.move_to_end(key)
        while len(self._outcomes) > _SIZE:
            self._outcomes.popitem(last=False)
        if self._file is not None and execution is not None:
            self._file.put(str(key), execution)

    def close(self) -> None:
        """Lets go of the file; it is opened again when needed."""
        if self._file is not None:
            self._file.close()
