"""Leaderboards: what share of the entries a score reaches."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wmrl_envs.autoresearch.table import TableError, parse_number, read_table, shorten
from wmrl_envs.errors import TaskFormatError

__all__ = ["Leaderboard", "Ranking", "is_constant", "load_leaderboard", "mean_position"]


class Ranking(Protocol):
    """What gives a score its position."""

    def position_score(self, score: float) -> float:
        """The position of a score, in [0, 1]."""


@dataclass(frozen=True)
class Leaderboard:
    """The scores of a leaderboard, best first.

    Attributes:
        scores: At least two different finite scores.
        higher_is_better: The metric's direction.

    Raises:
        ValueError: The scores are empty, not finite, all equal, or not ordered best first.

    Example:
        >>> Leaderboard((0.9, 0.8, 0.8, 0.5), higher_is_better=True).position_score(0.8)
        0.75
    """

    scores: tuple[float, ...]
    higher_is_better: bool

    def __post_init__(self) -> None:
        if is_constant(self.scores):
            raise ValueError(
                f"a leaderboard needs two different scores, got {len(self.scores)} equal ones"
            )
        if not all(map(math.isfinite, self.scores)):
            raise ValueError(f"scores must be finite, got {self.scores}")
        if list(self.scores) != sorted(self.scores, reverse=self.higher_is_better):
            raise ValueError(
                f"scores must be ordered best first for higher_is_better={self.higher_is_better}, "
                f"got {self.scores[0]} first and {self.scores[-1]} last"
            )

    def position(self, score: float) -> int:
        """1 + the number of entries that are strictly better; NaN and infinities come last."""
        if not math.isfinite(score):
            return len(self.scores) + 1
        if self.higher_is_better:
            return 1 + sum(entry > score for entry in self.scores)
        return 1 + sum(entry < score for entry in self.scores)

    def position_score(self, score: float) -> float:
        """(total - position + 1) / total, in [0, 1] (MLE-Dojo's formula)."""
        total = len(self.scores)
        return (total - self.position(score) + 1) / total


def is_constant(scores: Sequence[float]) -> bool:
    """True when all entries agree: every valid submission would reach the same position."""
    return len(set(scores)) < 2


def mean_position(score: float, boards: Sequence[Ranking]) -> float:
    """The position score averaged over the boards, in [0, 1].

    Raises:
        ValueError: There is no board.
    """
    if not boards:
        raise ValueError("boards must hold at least one leaderboard, got none")
    return sum(board.position_score(score) for board in boards) / len(boards)


def load_leaderboard(path: Path, higher_is_better: bool) -> Leaderboard | None:
    """Reads a CSV file with a ``score`` column.

    Returns:
        The board; None, with a warning, when all of its scores are equal: it would give every valid
        submission the same position.

    Raises:
        TaskFormatError: The file is unreadable, a score is no number, or the order of the entries
            contradicts the metric's direction.
    """
    scores = _read_scores(path)
    if is_constant(scores):
        warnings.warn(f"{path}: all scores are equal; the leaderboard is not used", stacklevel=2)
        return None
    try:
        return Leaderboard(scores, higher_is_better)
    except ValueError as error:
        raise TaskFormatError(f"{path}: column 'score': {error}") from None


def _read_scores(path: Path) -> tuple[float, ...]:
    try:
        table = read_table(path.read_bytes())
        if "score" not in table.columns:
            raise TableError(f"there is none among {list(table.columns)}", column="score")
        scores = tuple(map(parse_number, table.columns["score"]))
        for row, score in enumerate(scores, start=1):
            if math.isnan(score):
                cell = shorten(table.columns["score"][row - 1])
                raise TableError(f"{cell} is no finite number", column="score", row=row)
    except (OSError, TableError) as error:
        raise TaskFormatError(f"{path}: {error}") from None
    return scores
