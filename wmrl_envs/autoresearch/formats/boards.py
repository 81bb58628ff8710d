"""Leaderboards of other benchmarks, read and checked before they rank anything."""

import math
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmrl_envs.autoresearch.files import read_bytes
from wmrl_envs.autoresearch.leaderboard import Leaderboard, is_constant
from wmrl_envs.autoresearch.table import TableError, parse_number, read_table, shorten
from wmrl_envs.errors import TaskFormatError

__all__ = ["GapRanking", "find_boards", "load_boards"]


@dataclass(frozen=True)
class GapRanking:
    """DSBench's relative performance gap in place of a leaderboard.

    Attributes:
        reference: The score that counts as 1.
        baseline: The score that counts as 0.

    Raises:
        ValueError: The two are equal or not finite.

    Example:
        >>> GapRanking(reference=0.0, baseline=10.0).position_score(2.5)
        0.75
    """

    reference: float
    baseline: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.reference - self.baseline) or self.reference == self.baseline:
            raise ValueError(
                "reference and baseline must be two different finite scores, "
                f"got {self.reference} and {self.baseline}"
            )

    def gap(self, score: float) -> float:
        """max(0, (score - baseline) / (reference - baseline)); above 1 beyond the reference."""
        return max(0.0, (score - self.baseline) / (self.reference - self.baseline))

    def position_score(self, score: float) -> float:
        """The gap, at most 1."""
        return min(1.0, self.gap(score))


class _AnyBoard(Leaderboard):
    """A board that is kept although its scores are all equal."""

    def __post_init__(self) -> None:
        pass


def load_boards(
    paths: Sequence[Path], higher_is_better: bool, strict_paper: bool = False
) -> tuple[Leaderboard, ...]:
    """Reads leaderboards and drops those that cannot rank.

    A constant board gives every valid submission the same position, and one whose order contradicts
    the metric's direction while another board follows it is broken: both are dropped with a
    warning. If no board follows the direction, the direction itself is in doubt.

    Args:
        paths: CSV files with a column ``score`` (else the second column counts).
        higher_is_better: The metric's direction.
        strict_paper: Keep constant and inverted boards, as MLE-Dojo does, sorted best first.

    Raises:
        TaskFormatError: A file is unreadable, none of the boards is usable, or their order says the
            opposite of the direction.
    """
    boards = {path: _read_scores(path) for path in paths}
    inverted = [p for p, scores in boards.items() if _order(scores) == -_sign(higher_is_better)]
    straight = [p for p, scores in boards.items() if _order(scores) == _sign(higher_is_better)]
    if inverted and not straight:
        raise TaskFormatError(_conflict(inverted[0], boards[inverted[0]], higher_is_better))
    bad = {path: "its order contradicts the metric's direction" for path in inverted}
    bad |= {path: "all scores are equal" for path in boards if is_constant(boards[path])}
    usable = tuple(_usable(boards, bad, higher_is_better, strict_paper))
    if paths and not usable:
        raise TaskFormatError(f"{paths[0]}: the task has no leaderboard that can rank")
    return usable


def find_boards(
    places: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], name: str
) -> list[Path]:
    """The boards of a task among files and folders that a user names.

    Args:
        places: Files; or folders, such as a clone of MLE-bench or of MLE-Dojo.
        name: The task's name.

    Raises:
        TaskFormatError: A place holds no board of the task.
    """
    listed = [places] if isinstance(places, str | os.PathLike) else list(places)
    return [board for place in listed for board in _boards_at(Path(place), name)]


def _boards_at(place: Path, name: str) -> list[Path]:
    if place.is_file():
        return [place]
    folders = (place, place / name, *(place / clone / name for clone in _CLONES))
    for folder in folders:
        for inner in (folder, folder / "info"):
            found = [inner / board for board in _NAMES if (inner / board).is_file()]
            if found:
                return found
    raise TaskFormatError(f"{place}: no leaderboard of {name!r} there ({', '.join(_NAMES)})")


_NAMES = ("public_leaderboard.csv", "private_leaderboard.csv", "leaderboard.csv")
_CLONES = ("mlebench/competitions", "mledojo/competitions", "competitions")


def _usable(
    boards: dict[Path, tuple[float, ...]], bad: dict[Path, str], higher: bool, strict: bool
) -> Iterator[Leaderboard]:
    for path, scores in boards.items():
        if path in bad and not strict:
            warnings.warn(f"{path}: {bad[path]}; the leaderboard is not used", stacklevel=4)
            continue
        kind = _AnyBoard if path in bad else Leaderboard
        yield kind(tuple(sorted(scores, reverse=higher)), higher)


def _sign(higher_is_better: bool) -> int:
    return 1 if higher_is_better else -1


def _order(scores: Sequence[float]) -> int:
    """1 for a board that begins with its highest scores, -1 for the opposite, 0 for neither."""
    return (scores[0] > scores[-1]) - (scores[0] < scores[-1])


def _conflict(path: Path, scores: Sequence[float], higher_is_better: bool) -> str:
    direction = "higher" if higher_is_better else "lower"
    return (
        f"{path}: the board goes from {scores[0]} to {scores[-1]}, but of the metric {direction} "
        "is better; check the metric, or pass another one"
    )


def _read_scores(path: Path) -> tuple[float, ...]:
    """Empty cells are entries without a score, which MLE-bench's boards hold."""
    try:
        table = read_table(read_bytes(path))
        column = _score_column(list(table.columns))
        cells = [cell for cell in table.columns[column] if cell.strip()]
        scores = tuple(map(parse_number, cells))
        for row, score in enumerate(scores, start=1):
            if math.isnan(score):
                problem = f"{shorten(cells[row - 1])} is no finite number"
                raise TableError(problem, column=column, row=row)
    except (OSError, TableError) as error:
        raise TaskFormatError(f"{path}: {error}") from None
    if not scores:
        raise TaskFormatError(f"{path}: the leaderboard is empty")
    return scores


def _score_column(names: list[str]) -> str:
    if "score" in names or len(names) < 2:
        return "score" if "score" in names else names[0]
    return names[1]
