"""Leaderboards of other benchmarks: broken ones are dropped, a wrong direction is an error."""

import warnings
from pathlib import Path

import pytest
import testing_formats as formats

from wmrl_envs.autoresearch.formats.boards import GapRanking, find_boards, load_boards
from wmrl_envs.errors import TaskFormatError


def paths(folder: Path, *texts: str) -> list[Path]:
    for number, text in enumerate(texts):
        (folder / f"{number}.csv").write_text(text)
    return [folder / f"{number}.csv" for number in range(len(texts))]


UP, DOWN = formats.board(0.9, 0.5, 0.1), formats.board(0.1, 0.5, 0.9)
CONSTANT = formats.board(0.0, 0.0, 0.0)


def test_a_constant_board_is_dropped_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"0\.csv: all scores are equal"):
        (board,) = load_boards(paths(tmp_path, CONSTANT, UP), True)
    assert board.scores == (0.9, 0.5, 0.1)


def test_an_inverted_board_beside_a_straight_one_is_dropped_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"1\.csv: its order contradicts"):
        (board,) = load_boards(paths(tmp_path, UP, DOWN), True)
    assert board.scores == (0.9, 0.5, 0.1)


def test_the_strict_paper_mode_keeps_both_as_mle_dojo_does(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        boards = load_boards(paths(tmp_path, CONSTANT, UP, DOWN), True, strict_paper=True)
    constant, straight, inverted = boards
    assert [constant.position_score(s) for s in (-0.1, 0.0, 0.5)] == [0.0, 1.0, 1.0]
    assert straight.position_score(0.5) == inverted.position_score(0.5) == 2 / 3


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("text", "higher"), [(DOWN, True), (UP, False), (formats.board(3, 3, 7), True)]
)
def test_boards_that_all_contradict_the_direction_are_an_error(
    tmp_path: Path, text: str, higher: bool, strict: bool
) -> None:
    with pytest.raises(TaskFormatError, match="but of the metric .* is better; check the metric"):
        load_boards(paths(tmp_path, text, CONSTANT), higher, strict)


def test_a_task_whose_boards_are_all_constant_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.warns(UserWarning, match="all scores are equal"),
        pytest.raises(TaskFormatError, match="no leaderboard that can rank"),
    ):
        load_boards(paths(tmp_path, CONSTANT), True)


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("scoreNullable,teamId,score\n1.5,7,1.5\n,8,\n0.5,9,0.5\n", (1.5, 0.5)),
        ("rank,points\n1,0.9\n2,0.4\n", (0.9, 0.4)),
        ("points\n0.9\n0.4\n", (0.9, 0.4)),
        ("rank,score\n1,0.9\n2,0.1\n3,0.4\n4,0.2\n", (0.9, 0.4, 0.2, 0.1)),
    ],
)
def test_scores_are_found_and_sorted(tmp_path: Path, text: str, scores: tuple[float, ...]) -> None:
    assert load_boards(paths(tmp_path, text), True)[0].scores == scores


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank,score\n1,best\n", "column 'score', row 1: 'best' is no finite number"),
        ("rank,score\n", "the leaderboard is empty"),
        ("", "the file is empty"),
        (formats.LFS_POINTER, r"of Git LFS .*run `git -C .* lfs pull --include '\*0\.csv'`"),
    ],
)
def test_a_broken_board_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TaskFormatError, match=message):
        load_boards(paths(tmp_path, text), True)


@pytest.mark.parametrize(
    "place",
    [
        "leaderboard.csv",
        "toy/leaderboard.csv",
        "mlebench/competitions/toy/leaderboard.csv",
        "mledojo/competitions/toy/info/private_leaderboard.csv",
    ],
)
def test_boards_are_found_in_a_clone(tmp_path: Path, place: str) -> None:
    board = tmp_path / place
    board.parent.mkdir(parents=True, exist_ok=True)
    board.write_text(UP)
    assert find_boards(tmp_path, "toy") == find_boards([board], "toy") == [board]


def test_a_place_without_a_board_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskFormatError, match="no leaderboard of 'toy' there"):
        find_boards(tmp_path, "toy")


@pytest.mark.parametrize(
    ("score", "gap", "position"),
    [(0.4, 0.0, 0.0), (0.5, 0.0, 0.0), (0.7, 0.5, 0.5), (0.9, 1.0, 1.0), (1.1, 1.5, 1.0)],
)
def test_the_gap_begins_at_the_baseline_and_has_no_end(
    score: float, gap: float, position: float
) -> None:
    ranking = GapRanking(reference=0.9, baseline=0.5)
    assert ranking.gap(score) == pytest.approx(gap)
    assert ranking.position_score(score) == pytest.approx(position)


def test_equal_reference_and_baseline_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two different finite scores, got 0\.5 and 0\.5"):
        GapRanking(0.5, 0.5)
