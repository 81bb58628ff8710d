"""A task in another benchmark's folders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from wmrl_envs.autoresearch.answers import AnswerKey
from wmrl_envs.autoresearch.formats.boards import GapRanking
from wmrl_envs.autoresearch.formats.layout import Layout
from wmrl_envs.autoresearch.formats.registry import Facts
from wmrl_envs.autoresearch.inventory import build_overview
from wmrl_envs.autoresearch.leaderboard import Ranking
from wmrl_envs.autoresearch.task import Task

__all__ = ["PreparedTask", "Source"]


@dataclass(frozen=True)
class Source:
    """Where a task came from, so that a copy in another process can be opened again.

    Attributes:
        open: Opens a task: ``open(path, **options)``.
        path: The path that was given.
        options: The options that were given.
    """

    open: Callable[..., Task]
    path: str
    options: Mapping[str, Any]


class PreparedTask(Task):
    """A task of MLE-Dojo, MLE-bench or DSBench, read where it lies.

    Made by :func:`~wmrl_envs.autoresearch.formats.load_task`. It behaves like any other
    :class:`~wmrl_envs.autoresearch.task.Task`; nothing of it is copied.

    Attributes:
        layout: Where its parts lie.
        facts: What is known of it: WMRL's split and category, known issues.
    """

    def __init__(
        self,
        layout: Layout,
        facts: Facts,
        key: AnswerKey,
        rankings: tuple[Ranking, ...],
        mounts: Mapping[str, str],
        source: Source,
    ) -> None:
        self._key = key
        self._rankings = rankings
        self._mounted = dict(mounts)
        self._source = source
        self.layout = layout
        self.facts = facts
        super().__init__(layout.public.parent, key.spec)
        self.public_dir = layout.public
        self.private_dir = layout.answers.parent

    @property
    def mounts(self) -> dict[str, str]:
        """Host folder -> absolute place where programs see it, read-only."""
        return dict(self._mounted)

    def gap(self, score: float) -> float:
        """DSBench's relative performance gap of a score; it has no upper bound.

        Raises:
            ValueError: The task has no reference and baseline scores.
        """
        found = [ranking for ranking in self._rankings if isinstance(ranking, GapRanking)]
        if not found and self.layout.gap is None:
            raise ValueError(f"task {self.name!r} has no reference and baseline scores")
        return (found[0] if found else GapRanking(*self.layout.gap or (0.0, 0.0))).gap(score)

    def check(self) -> None:
        """Reads every file that prompting needs; the answers were checked when it was opened."""
        self.overview()
        self.card()

    @cached_property
    def _overview(self) -> str:
        layout = self.layout
        nothing = layout.public / "no sample submission"
        return build_overview(
            layout.public, self.spec, layout.description, layout.shown_sample or nothing
        )

    @cached_property
    def _answers(self) -> AnswerKey:
        return self._key

    @cached_property
    def _boards(self) -> tuple[Ranking, ...]:
        return self._rankings

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._source,)

    def __repr__(self) -> str:
        return f"PreparedTask({self.name!r}, {self.layout.format}, {self.modality}, {self.metric})"


def _reopen(source: Source) -> Task:
    return source.open(source.path, **source.options)
