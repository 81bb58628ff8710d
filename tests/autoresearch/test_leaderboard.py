"""A score's position on a leaderboard."""

import math
from pathlib import Path

import pytest

from wmrl_envs.autoresearch.leaderboard import Leaderboard, load_leaderboard, mean_position
from wmrl_envs.errors import TaskFormatError

UP = Leaderboard((0.9, 0.8, 0.8, 0.5), higher_is_better=True)
DOWN = Leaderboard((1.0, 2.0, 3.0, 4.0, 5.0), higher_is_better=False)


@pytest.mark.parametrize(
    ("board", "score", "position", "share"),
    [
        (UP, 1.0, 1, 1.0),
        (UP, 0.9, 1, 1.0),
        (UP, 0.8, 2, 0.75),
        (UP, 0.6, 4, 0.25),
        (UP, 0.5, 4, 0.25),
        (UP, 0.4, 5, 0.0),
        (DOWN, 0.0, 1, 1.0),
        (DOWN, 2.5, 3, 0.6),
        (DOWN, 9.0, 6, 0.0),
    ],
)
def test_the_position_counts_the_entries_that_are_strictly_better(
    board: Leaderboard, score: float, position: int, share: float
) -> None:
    assert board.position(score) == position
    assert board.position_score(score) == pytest.approx(share)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("board", [UP, DOWN])
def test_a_score_that_is_not_finite_comes_last(board: Leaderboard, score: float) -> None:
    assert board.position_score(score) == 0.0


def test_two_boards_are_averaged() -> None:
    other = Leaderboard((0.7, 0.1), higher_is_better=True)
    assert mean_position(0.8, [UP, other]) == pytest.approx((0.75 + 1.0) / 2)


def test_no_board_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one leaderboard"):
        mean_position(0.5, [])


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ((), "two different scores"),
        ((0.5, 0.5), "two different scores"),
        ((0.5, math.nan), "finite"),
        ((0.1, 0.9), "best first for higher_is_better=True, got 0.1 first and 0.9 last"),
    ],
)
def test_a_board_that_cannot_rank_is_refused(scores: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Leaderboard(scores, higher_is_better=True)


def test_a_board_is_read_by_the_name_of_its_column(tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.csv"
    path.write_text("rank,score,name\n1,0.9,forest\n2,0.5,constant\n")
    assert load_leaderboard(path, True) == Leaderboard((0.9, 0.5), True)


def test_a_constant_board_is_dropped_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.csv"
    path.write_text("rank,score\n1,0.0\n2,0.0\n")
    with pytest.warns(UserWarning, match="all scores are equal"):
        assert load_leaderboard(path, True) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank,points\n1,2\n", "column 'score': there is none"),
        ("rank,score\n1,0.5\n2,best\n", "column 'score', row 2: 'best' is no finite number"),
        ("rank,score\n1,0.5\n2,0.9\n", "best first for higher_is_better=True"),
        ("rank,score\n1\n", "row 1: 1 fields, the header has 2"),
        (None, "leaderboard.csv"),
    ],
)
def test_a_broken_board_is_named_with_column_and_row(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "leaderboard.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(TaskFormatError, match=message):
        load_leaderboard(path, True)
