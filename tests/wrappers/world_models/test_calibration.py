"""Errors by level of the reward, and calibration curves, by hand-computed numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.autoresearch.grading import Grade, GradeStatus, ladder_reward
from wmrl_envs.wrappers.world_models.calibration import (
    LADDER,
    bias_by_level,
    calibration_curve,
    level_confusion,
    reward_levels,
)

pairs = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("status", "level"),
    [
        (GradeStatus.MALFORMED, "no code"),
        (GradeStatus.SYNTAX_ERROR, "no code"),
        (GradeStatus.RUNTIME_ERROR, "failed"),
        (GradeStatus.TIMEOUT, "failed"),
        (GradeStatus.NO_SUBMISSION, "no submission"),
        (GradeStatus.INVALID_SUBMISSION, "no submission"),
    ],
)
def test_the_ladders_rewards_lie_on_their_levels(status: GradeStatus, level: str) -> None:
    (place,) = reward_levels([ladder_reward(Grade(status, None, None, ""))])
    assert LADDER[place][0] == level


@pytest.mark.parametrize(("position", "level"), [(0.0, 3), (0.4, 3), (0.5, 4), (1.0, 4)])
def test_valid_submissions_lie_on_two_levels(position: float, level: int) -> None:
    grade = Grade(GradeStatus.VALID, 1.0, position, "")
    assert reward_levels([ladder_reward(grade)]).tolist() == [level]


def test_the_bias_of_each_level_is_that_of_its_pairs() -> None:
    found = bias_by_level([0.2, 0.0, 0.7, 0.9], [0.0, 0.1, 0.1, 0.9])
    assert [(one.level, one.count) for one in found] == [
        ("no code", 1),
        ("failed", 2),
        ("valid, upper half", 1),
    ]
    assert [one.bias for one in found] == pytest.approx([0.2, 0.25, 0.0])
    assert [one.mae for one in found] == pytest.approx([0.2, 0.35, 0.0])


@given(pairs)
def test_a_confusion_counts_every_pair_once(both: list[tuple[float, float]]) -> None:
    predicted, measured = zip(*both, strict=True)
    counts = level_confusion(predicted, measured)
    assert counts.sum() == len(both)
    assert counts.sum(axis=1).tolist() == np.bincount(reward_levels(measured), minlength=5).tolist()
    assert np.array_equal(level_confusion(measured, measured), np.diag(counts.sum(axis=1)))


@given(pairs, st.integers(1, 12))
def test_a_curve_holds_every_pair_in_order(both: list[tuple[float, float]], bins: int) -> None:
    predicted, measured = (np.array(side) for side in zip(*both, strict=True))
    points = calibration_curve(predicted, measured, bins)
    assert sum(point.count for point in points) == len(both) and len(points) <= bins
    x = [point.predicted for point in points]
    assert x == sorted(x)
    total = sum(point.measured * point.count for point in points)
    assert total == pytest.approx(measured.sum())


def test_a_perfect_model_lies_on_the_diagonal() -> None:
    values = np.random.default_rng(0).random(100)
    points = calibration_curve(values, values)
    assert [point.count for point in points] == [10] * 10
    assert [p.predicted for p in points] == pytest.approx([p.measured for p in points])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1], [0.1], 0), "bins must be at least 1, got 0"),
        (([0.1], [0.1, 0.2]), "equally long"),
    ],
)
def test_what_has_no_curve_is_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibration_curve(*arguments)


def test_no_pairs_have_no_points() -> None:
    assert calibration_curve([], []) == []
