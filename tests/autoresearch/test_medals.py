"""Medals by MLE-bench's rule."""

import pytest

from wmrl_envs.autoresearch.leaderboard import Leaderboard
from wmrl_envs.autoresearch.medals import medal, medal_ranks, thresholds


@pytest.mark.parametrize(
    ("entries", "ranks"),
    [
        (1, (1, 1, 1)),
        (9, (1, 1, 3)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (500, (11, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (3000, (16, 150, 300)),
    ],
)
def test_the_last_rank_of_each_medal_depends_on_the_number_of_entries(
    entries: int, ranks: tuple[int, int, int]
) -> None:
    assert tuple(medal_ranks(entries).values()) == ranks


def test_a_board_without_entries_has_no_medals() -> None:
    with pytest.raises(ValueError, match="entries must be at least 1, got 0"):
        medal_ranks(0)


@pytest.mark.parametrize("higher", [True, False])
def test_a_tie_with_the_threshold_wins_the_medal(higher: bool) -> None:
    scores = tuple(float(i) for i in range(20))
    board = Leaderboard(scores[::-1] if higher else scores, higher)
    assert thresholds(board) == (
        {"gold": 18.0, "silver": 16.0, "bronze": 12.0}
        if higher
        else {"gold": 1.0, "silver": 3.0, "bronze": 7.0}
    )
    sign = 1 if higher else -1
    for name, threshold in thresholds(board).items():
        assert medal(board, threshold) == name
        assert medal(board, threshold - sign * 0.5) != name
    assert medal(board, scores[0] if higher else scores[-1]) is None


def test_a_score_that_is_not_finite_wins_nothing() -> None:
    board = Leaderboard((3.0, 2.0, 1.0), higher_is_better=True)
    assert medal(board, float("nan")) is None
