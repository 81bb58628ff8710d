"""Naming groups, and holding back the pairs of those that are not complete."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.estimators import FittedCorrection
from wmrl_envs.wrappers.groups import GroupCounter, GroupLedger

starts = st.lists(st.one_of(st.none(), st.integers(0, 2**32 - 1)), min_size=1, max_size=20)


@given(starts)
def test_groups_depend_on_the_seeds_so_far_and_nothing_else(seeds: list[int | None]) -> None:
    one, other = GroupCounter(1), GroupCounter(3)
    assert [one.begin(0, seed) for seed in seeds] == [other.begin(0, seed) for seed in seeds]


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_unseeded_episodes_never_repeat_a_group(seed: int, number: int) -> None:
    counter = GroupCounter(1)
    groups = [counter.begin(0, seed)] + [counter.begin(0) for _ in range(number)]
    assert len(set(groups)) == number + 1


def sizes(ledger: GroupLedger) -> list[int]:
    return [predicted.size for predicted, _ in ledger.take_complete()]


def test_a_group_is_complete_when_its_last_member_is_done() -> None:
    ledger = GroupLedger(3)
    for i in range(3):
        ledger.start(i, 5)
    for i in range(2):
        ledger.finish(i, (0.1, 0.2))
        assert sizes(ledger) == []
    ledger.finish(2, None)
    assert sizes(ledger) == [2]
    assert sizes(ledger) == []


def test_a_lone_members_group_goes_on_until_another_starts_there() -> None:
    ledger = GroupLedger(1)
    for _ in range(3):
        ledger.start(0, 5)
        ledger.finish(0, (0.1, 0.2))
        assert sizes(ledger) == []
    ledger.start(0, 6)
    assert sizes(ledger) == [3]


def test_groups_come_in_the_order_of_their_first_pair() -> None:
    ledger = GroupLedger(4)
    for i, group in enumerate([8, 8, 3, 3]):
        ledger.start(i, group)
    for i in (2, 0, 1, 3):
        ledger.finish(i, (float(i), 0.0))
    assert [predicted.tolist() for predicted, _ in ledger.take_complete()] == [[2, 3], [0, 1]]


def test_one_map_serves_a_group_while_it_runs() -> None:
    ledger = GroupLedger(2)
    ledger.start(0, 5)
    ledger.start(1, 5)
    first, second = FittedCorrection(slope=0.1), FittedCorrection(slope=0.2)
    ledger.finish(0)
    assert ledger.pinned(5, first) is first
    ledger.unpin_finished()
    ledger.finish(1)
    assert ledger.pinned(5, second) is first
    ledger.unpin_finished()
    assert ledger.pinned(5, second) is second


def test_episodes_without_a_group_hold_nothing_back() -> None:
    ledger = GroupLedger(1)
    ledger.start(0, None)
    ledger.finish(0, (0.1, 0.2))
    assert sizes(ledger) == []
    assert ledger.state_dict()["group"].size == 0


def test_held_back_pairs_are_saved_and_restored() -> None:
    ledger, restored = GroupLedger(2), GroupLedger(2)
    for i, group in enumerate([5, 2**40]):
        ledger.start(i, group)
        ledger.finish(i, (0.1 * i, 0.2))
    restored.load_state_dict(ledger.state_dict())
    for key, value in ledger.state_dict().items():
        np.testing.assert_array_equal(value, restored.state_dict()[key])
    restored.start(0, 7)
    assert sizes(restored) == [1, 1]
