"""The anchor draw: exact, seeded, memoryless."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.estimators.anchors import (
    REPEAT_STRIDE,
    AnchorDraw,
    exact_block,
    group_id,
)

fractions = st.sampled_from([0.05, 0.1, 0.15, 0.2, 0.25, 1 / 3, 0.5, 0.7, 0.9])


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.1, 0.15, 0.2, 1 / 3, 0.5, 0.7, 1.0])
def test_whole_blocks_hold_exactly_the_budget(fraction: float) -> None:
    draw = AnchorDraw(fraction, seed=3)
    length = 60 * exact_block(fraction)
    assert draw(np.arange(length)).sum() == round(fraction * length)


@given(fractions, st.integers(0, 2**31), st.integers(0, 1000), st.integers(1, 400))
def test_any_run_of_consecutive_groups_is_within_two_blocks_of_the_budget(
    fraction: float, seed: int, start: int, length: int
) -> None:
    draw = AnchorDraw(fraction, seed)
    anchors = draw(np.arange(start, start + length)).sum()
    in_a_block = round(fraction * exact_block(fraction))
    assert abs(anchors - fraction * length) <= 2 * in_a_block


@given(st.floats(0.01, 1.0), st.integers(1, 50), st.integers(0, 10**6))
def test_a_chosen_block_keeps_the_budget_by_diffusing_the_remainder(
    fraction: float, block: int, seed: int
) -> None:
    anchors = AnchorDraw(fraction, seed, block)(np.arange(20 * block)).sum()
    assert abs(anchors - fraction * 20 * block) <= 1


@given(fractions, st.integers(0, 10**9), st.integers(0, 2**32 - 1))
def test_the_successive_episodes_of_one_seed_keep_the_budget_too(
    fraction: float, seed: int, base: int
) -> None:
    block = exact_block(fraction)
    groups = np.array([group_id(base, repeat) for repeat in range(block)])
    assert AnchorDraw(fraction, seed)(groups).sum() == round(fraction * block)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20), st.integers())
def test_a_group_is_drawn_alike_alone_and_in_company(groups: list[int], seed: int) -> None:
    draw = AnchorDraw(0.3, seed)
    assert draw(np.array(groups)).tolist() == [draw.one(group) for group in groups]


def test_seeds_choose_different_anchors() -> None:
    draws = {tuple(AnchorDraw(0.1, seed)(np.arange(100))) for seed in range(20)}
    assert len(draws) == 20


def test_every_place_of_a_block_is_drawn_equally_often() -> None:
    anchors = AnchorDraw(0.1, seed=0)(np.arange(20_000)).reshape(-1, 10)
    assert np.all(np.abs(anchors.mean(axis=0) - 0.1) < 0.03)


def test_the_draw_does_not_change_from_process_to_process() -> None:
    code = (
        "import numpy as np; from wmrl_envs.wrappers.estimators import AnchorDraw;"
        "print(np.flatnonzero(AnchorDraw(0.1, 7)(np.arange(60))).tolist())"
    )
    here = np.flatnonzero(AnchorDraw(0.1, 7)(np.arange(60))).tolist()
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == str(here)


@given(st.integers(0, 2**70), st.integers(0, 2**20))
def test_group_ids_fit_an_int64_and_are_not_negative(base: int, repeat: int) -> None:
    assert 0 <= group_id(base, repeat) < 2**63


def test_group_ids_of_different_seeds_and_repeats_differ() -> None:
    ids = {group_id(base, repeat) for base in range(50) for repeat in range(50)}
    assert len(ids) == 2500
    assert group_id(5, 2) - group_id(5, 1) == REPEAT_STRIDE


def test_numpys_numbers_draw_like_pythons() -> None:
    drawn = AnchorDraw(np.float32(0.5), np.int64(-4), np.int32(8))(np.arange(64))
    np.testing.assert_array_equal(drawn, AnchorDraw(0.5, -4, 8)(np.arange(64)))


def test_the_rarest_anchors_need_no_long_block_to_keep_the_budget() -> None:
    assert exact_block(1e-8) == exact_block(1e-6) == 10_000
    assert AnchorDraw(0.001, block=10)(np.arange(50_000)).sum() == 50


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"fraction": 1.1}, ValueError, "fraction must lie in .0, 1., got 1.1"),
        ({"fraction": -0.1}, ValueError, "fraction"),
        ({"fraction": float("nan")}, ValueError, "fraction"),
        ({"fraction": "0.1"}, TypeError, "fraction must be a number"),
        ({"fraction": True}, TypeError, "fraction"),
        ({"fraction": 0.1, "seed": 1.5}, TypeError, "seed must be an integer, got 1.5"),
        ({"fraction": 0.1, "block": 0}, ValueError, "block must be at least 1, got 0"),
        ({"fraction": 0.1, "block": 2.0}, TypeError, "block"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        AnchorDraw(**arguments)
