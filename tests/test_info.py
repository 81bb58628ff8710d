"""Tests of the info keys."""

import numpy as np
import pytest
from gymnasium.vector import VectorEnv

from wmrl_envs import info as keys

KEYS = [name for name in dir(keys) if name.isupper()]


def vector_infos(*infos):
    """Merges single infos as Gymnasium's vector environments do."""
    env = VectorEnv()
    env.num_envs = len(infos)
    merged = {}
    for i, single in enumerate(infos):
        merged = env._add_info(merged, single, i)
    return merged


def test_every_key_has_a_value_of_its_own():
    values = [getattr(keys, name) for name in KEYS]
    assert len(set(values)) == len(values)
    assert all(isinstance(value, str) for value in values)


def test_a_key_that_nobody_wrote_gives_the_default_and_an_empty_mask():
    values, present = keys.masked({}, keys.REWARD_WEIGHT, 3, default=1.0)
    assert values.tolist() == [1.0, 1.0, 1.0]
    assert values.dtype == np.float64
    assert not present.any()


def test_rows_without_the_key_give_the_default_instead_of_gymnasiums_zero():
    infos = vector_infos({keys.GRADED: False}, {}, {keys.GRADED: True})
    values, present = keys.masked(infos, keys.GRADED, 3, default=True)
    assert values.tolist() == [False, True, True]
    assert present.tolist() == [True, False, True]


def test_a_key_without_a_mask_counts_as_present_everywhere():
    values, present = keys.masked({"group": np.array([4, 5])}, keys.GROUP, 2, default=0)
    assert values.tolist() == [4, 5]
    assert present.all()


def test_texts_of_any_length_keep_their_end():
    infos = vector_infos({}, {keys.GRADE_STATUS: "invalid_submission"})
    values, _ = keys.masked(infos, keys.GRADE_STATUS, 2, default="")
    assert values.tolist() == ["", "invalid_submission"]


@pytest.mark.parametrize("default", [0.0, 0, False, ""])
def test_the_infos_themselves_are_left_alone(default):
    infos = vector_infos({}, {"key": default})
    before = infos["key"].copy()
    values, _ = keys.masked(infos, "key", 2, default=default)
    values[:] = default
    assert (infos["key"] == before).all()
