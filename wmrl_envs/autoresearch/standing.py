"""What a task's leaderboard is worth: its medals, and how much of a percentile is chance."""

from dataclasses import dataclass
from typing import Any, Final

from wmrl_envs.autoresearch.leaderboard import Leaderboard
from wmrl_envs.autoresearch.medals import Medal, medal
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.autoresearch.toml import read_toml
from wmrl_envs.errors import TaskFormatError

__all__ = ["NOISY_BELOW", "Noise", "main_board", "medal_of", "noise_of"]

NOISY_BELOW: Final = 3.0
"""A board whose quartiles lie fewer standard errors apart tells little."""


@dataclass(frozen=True)
class Noise:
    """The chance in a task's scores, measured when its leaderboard was built.

    Attributes:
        spread: The distance between the quartiles of the board's scores.
        standard_error: Of a good submission's score (the entry at the upper quartile), by
            resampling the rows that it is graded on.
        position_error: The standard deviation of that submission's position when all entries of
            the board are scored on the same resampled rows, in [0, 1].
    """

    spread: float
    standard_error: float
    position_error: float

    @property
    def ratio(self) -> float:
        """Spread over standard error."""
        return self.spread / self.standard_error if self.standard_error > 0 else float("inf")

    @property
    def mostly_noise(self) -> bool:
        """True if the board's spread is under three standard errors."""
        return self.ratio < NOISY_BELOW


def noise_of(task: Task) -> Noise | None:
    """Reads the table ``[board]`` of ``task.toml``; None if the task has none.

    Raises:
        TaskFormatError: A value of the table is missing or no number.
    """
    path = task.folder / "task.toml"
    if not path.is_file():
        return None
    table: dict[str, Any] | None = read_toml(path).get("board")
    if table is None:
        return None
    try:
        keys = ("spread", "standard_error", "position_error")
        return Noise(**{key: float(table[key]) for key in keys})
    except (KeyError, TypeError, ValueError) as error:
        raise TaskFormatError(f"{path}: table 'board': {error!r}") from None


def main_board(task: Task) -> Leaderboard | None:
    """The private leaderboard; None where a task is ranked by something else."""
    boards = [board for board in task.boards if isinstance(board, Leaderboard)]
    return boards[-1] if boards else None


def medal_of(task: Task, score: float) -> Medal | None:
    """The medal that a score wins on a task's private leaderboard."""
    board = main_board(task)
    return None if board is None else medal(board, score)
