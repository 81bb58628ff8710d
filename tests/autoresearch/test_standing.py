"""The worth of a leaderboard: its noise and its medals."""

from pathlib import Path

import pytest
import testing_tasks

from wmrl_envs.autoresearch.standing import Noise, main_board, medal_of, noise_of
from wmrl_envs.errors import TaskFormatError

BOARD = "\n[board]\nspread = 0.2\nstandard_error = 0.1\nposition_error = 0.05\n"


def test_a_task_without_the_table_has_no_noise(tmp_path: Path) -> None:
    assert noise_of(testing_tasks.make_task(tmp_path / "toy")) is None


def test_the_noise_is_read_from_the_task(tmp_path: Path) -> None:
    toml = testing_tasks.toml("accuracy") + BOARD
    task = testing_tasks.make_task(tmp_path / "toy", toml=toml)
    assert noise_of(task) == Noise(spread=0.2, standard_error=0.1, position_error=0.05)


@pytest.mark.parametrize("change", [("0.1", '"much"'), ("standard_error", "error")])
def test_a_broken_table_is_named(tmp_path: Path, change: tuple[str, str]) -> None:
    toml = testing_tasks.toml("accuracy") + BOARD.replace(*change)
    task = testing_tasks.make_task(tmp_path / "toy", toml=toml)
    with pytest.raises(TaskFormatError, match="table 'board'"):
        noise_of(task)


@pytest.mark.parametrize(("error", "noisy"), [(0.1, True), (0.05, False), (0.0, False)])
def test_a_board_of_under_three_standard_errors_is_mostly_noise(error: float, noisy: bool) -> None:
    assert Noise(0.2, error, 0.1).mostly_noise is noisy


def test_the_private_board_gives_the_medals(tmp_path: Path) -> None:
    task = testing_tasks.make_task(
        tmp_path / "toy", leaderboard_public="rank,score\n1,0.4\n2,0.3\n"
    )
    board = main_board(task)
    assert board is not None and board.scores[0] == 0.9
    assert medal_of(task, 0.95) == "gold"
    assert medal_of(task, 0.5) is None
