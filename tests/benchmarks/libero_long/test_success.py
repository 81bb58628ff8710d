"""Tests of the success rates."""

import numpy as np
import pytest

from wmrl_envs.benchmarks.libero_long.success import StateRollouts, SuccessTable


@pytest.fixture
def table():
    rows = [
        StateRollouts(5, 0, "train", (True, True, False, False)),
        StateRollouts(5, 1, "train", (True, True, True, True)),
        StateRollouts(5, 16, "heldout", (False, False, False, False)),
        StateRollouts(6, 17, "heldout", (True, False, False, False)),
        StateRollouts(6, 18, "heldout", (True, True, True, True)),
    ]
    return SuccessTable(rows)


def test_best_needs_one_success_of_a_state_and_all_needs_every_one(table):
    assert table.rates("train") == {"avg": 0.75, "best": 1.0, "all": 0.5}
    assert table.rates("heldout") == pytest.approx({"avg": 5 / 12, "best": 2 / 3, "all": 1 / 3})


def test_overall_averages_over_every_initial_state(table):
    assert table.overall == pytest.approx((0.5 + 1 + 0 + 0.25 + 1) / 5)


def test_the_interval_resamples_states_not_rollouts():
    alike = [StateRollouts(0, i, "train", (bool(i % 2),) * 8) for i in range(8)]
    apart = [StateRollouts(0, i, "train", (True, False) * 4) for i in range(8)]
    low, high = SuccessTable(alike).interval()
    assert low < 0.3 < 0.7 < high
    assert SuccessTable(apart).interval("train") == (0.5, 0.5)


def test_a_record_can_be_read_again(table):
    record = table.record()
    assert SuccessTable.read(record).record() == record
    assert record["overall"] == table.overall
    assert record["states"][0] == {
        "task": 5,
        "state": 0,
        "split": "train",
        "successes": [1, 1, 0, 0],
    }


def test_a_split_without_states_has_no_rate(table):
    assert np.isnan(SuccessTable(table.states[:2]).rates("heldout")["avg"])
