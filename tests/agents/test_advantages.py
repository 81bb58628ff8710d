"""Group-relative advantages: hand-computed values, weights, ungraded rows, invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.agents import group_advantages

REWARDS = [1.0, 0.0, 0.5, 0.5, 4.0, 2.0]
GROUPS = [0, 0, 1, 1, 2, 2]


def test_unscaled_advantages_are_distances_from_the_group_mean() -> None:
    result = group_advantages(REWARDS, GROUPS, scale="none")
    assert result.values.tolist() == [0.5, -0.5, 0.0, 0.0, 1.0, -1.0]
    assert result.used.all()


def test_group_scale_divides_by_each_groups_population_deviation() -> None:
    values = group_advantages(REWARDS, GROUPS, scale="group").values
    assert values.tolist() == [1.0, -1.0, 0.0, 0.0, 1.0, -1.0]


def test_batch_scale_divides_all_groups_by_one_deviation() -> None:
    deviation = np.sqrt((0.25 + 0.25 + 0 + 0 + 1 + 1) / 6)
    values = group_advantages(REWARDS, GROUPS, scale="batch").values
    np.testing.assert_allclose(values, np.array([0.5, -0.5, 0, 0, 1, -1]) / deviation, rtol=1e-12)


def test_ungraded_rows_enter_neither_mean_nor_deviation() -> None:
    rewards = [1.0, 0.0, 0.7, 3.0, 5.0, np.nan]
    graded = [True, True, True, True, True, False]
    with_row = group_advantages(rewards, [0, 0, 0, 1, 1, 1], graded=graded)
    without = group_advantages(rewards[:5], [0, 0, 0, 1, 1])
    assert with_row.values[:5].tolist() == without.values.tolist()
    assert with_row.values[5] == 0 and not with_row.used[5]


def test_a_group_with_one_graded_row_is_skipped() -> None:
    result = group_advantages([1.0, 9.0, 0.0, 1.0], [0, 0, 1, 1], graded=[True, False, True, True])
    assert result.used.tolist() == [False, False, True, True]
    assert result.values[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scale", ["batch", "group", "none"])
def test_equal_rewards_give_exactly_zero(scale: str) -> None:
    """The mean of three times 0.1 is not 0.1 in floating point; the advantage is 0 all the same."""
    assert group_advantages([0.1, 0.1, 0.1], [0, 0, 0], scale=scale).values.tolist() == [0.0] * 3


@pytest.mark.parametrize("scale", ["batch", "group", "none"])
def test_a_weight_multiplies_its_row_and_changes_no_other(scale: str) -> None:
    plain = group_advantages(REWARDS, GROUPS, scale=scale).values
    weights = np.array([3.0, 3.0, 1.0, 1.0, 0.5, 1.0])
    weighted = group_advantages(REWARDS, GROUPS, weights=weights, scale=scale).values
    np.testing.assert_allclose(weighted, plain * weights, rtol=1e-12)


def test_the_floor_keeps_small_differences_small() -> None:
    values = group_advantages([0.001, -0.001], [0, 0], scale="group", std_floor=0.1).values
    np.testing.assert_allclose(values, [0.01, -0.01])


def test_no_rows_and_no_graded_rows_give_no_advantages() -> None:
    assert group_advantages([], []).values.shape == (0,)
    result = group_advantages([1.0, 2.0], [0, 0], graded=[False, False])
    assert result.values.tolist() == [0.0, 0.0] and not result.used.any()


@given(
    st.lists(st.tuples(st.floats(-10, 10), st.integers(0, 3), st.booleans()), max_size=30),
    st.sampled_from(["batch", "group", "none"]),
)
def test_a_groups_advantages_sum_to_zero_and_follow_a_permutation(
    rows: list[tuple[float, int, bool]], scale: str
) -> None:
    rewards = np.array([r for r, _, _ in rows])
    groups = np.array([g for _, g, _ in rows], dtype=int)
    graded = np.array([g for _, _, g in rows], dtype=bool)
    result = group_advantages(rewards, groups, graded=graded, scale=scale)
    assert np.isfinite(result.values).all()
    for group in set(groups.tolist()):
        assert abs(result.values[groups == group].sum()) < 1e-5 * (1 + abs(result.values).max())
    order = np.random.default_rng(0).permutation(len(rows))
    turned = group_advantages(rewards[order], groups[order], graded=graded[order], scale=scale)
    np.testing.assert_allclose(turned.values, result.values[order], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rewards": [[1.0]]}, "rewards must have shape"),
        ({"groups": [0]}, "groups must have the shape"),
        ({"groups": [0.5, 0.5]}, "groups must be integers"),
        ({"graded": [True]}, "graded must have the shape"),
        ({"graded": [1, 0]}, "graded must be a bool array"),
        ({"rewards": [np.nan, 1.0]}, "must be finite"),
        ({"weights": [1.0, -1.0]}, "weights must be finite and >= 0"),
        ({"weights": [1.0, np.inf]}, "weights must be finite and >= 0"),
        ({"scale": "std"}, "scale must be one of"),
        ({"std_floor": -1.0}, "std_floor must be finite"),
        ({"std_floor": 0.0}, "std_floor must be > 0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        group_advantages(**{"rewards": [1.0, 2.0], "groups": [0, 0], **arguments})  # type: ignore[arg-type]
