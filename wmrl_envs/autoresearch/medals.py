"""Medals: what a rank on a leaderboard would have won (the rule of MLE-bench and of Kaggle)."""

from typing import Final, Literal

from wmrl_envs.autoresearch.leaderboard import Leaderboard

__all__ = ["MEDALS", "Medal", "medal", "medal_ranks", "thresholds"]

Medal = Literal["gold", "silver", "bronze"]

MEDALS: Final[tuple[Medal, ...]] = ("gold", "silver", "bronze")


def medal_ranks(entries: int) -> dict[Medal, int]:
    """The last rank that wins each medal, by the number of entries of the board.

    ========== =============== ========== ==========
    entries    gold            silver     bronze
    ========== =============== ========== ==========
    1–99       10 %            20 %       40 %
    100–249    10              20 %       40 %
    250–999    10 + 0.2 %      50         100
    1000–      10 + 0.2 %      5 %        10 %
    ========== =============== ========== ==========

    Shares are rounded down, to 1 at least.

    Raises:
        ValueError: There are no entries.

    Example:
        >>> medal_ranks(120)
        {'gold': 10, 'silver': 24, 'bronze': 48}
    """
    if entries < 1:
        raise ValueError(f"entries must be at least 1, got {entries}")
    if entries < 100:
        ranks = (entries // 10, entries // 5, entries * 2 // 5)
    elif entries < 250:
        ranks = (10, entries // 5, entries * 2 // 5)
    elif entries < 1000:
        ranks = (10 + entries // 500, 50, 100)
    else:
        ranks = (10 + entries // 500, entries // 20, entries // 10)
    return {name: max(1, rank) for name, rank in zip(MEDALS, ranks, strict=True)}


def thresholds(board: Leaderboard) -> dict[Medal, float]:
    """The score that each medal takes: that of the last rank that wins it."""
    ranks = medal_ranks(len(board.scores))
    return {name: board.scores[rank - 1] for name, rank in ranks.items()}


def medal(board: Leaderboard, score: float) -> Medal | None:
    """The best medal that a score wins; ties with the threshold count.

    Example:
        >>> board = Leaderboard((0.9, 0.8, 0.7, 0.6, 0.5), higher_is_better=True)
        >>> medal(board, 0.8), medal(board, 0.79)
        ('bronze', None)
    """
    for name, threshold in thresholds(board).items():
        if board.position(score) <= board.position(threshold):
            return name
    return None
