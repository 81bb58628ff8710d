"""Tests of the splits and of what a seed starts."""

from collections import Counter

import pytest

from wmrl_envs.libero.initial_states import choose_start, resolve_split

STARTS = [(task, state) for task in range(3) for state in range(4)]


def test_train_and_heldout_are_16_and_34_states_without_overlap():
    train, heldout = resolve_split("train", 50), resolve_split("heldout", 50)
    assert (len(train), len(heldout)) == (16, 34)
    assert {*train, *heldout} == set(resolve_split("all", 50))


def test_a_split_may_be_any_numbers():
    assert resolve_split([7, 3], 50) == (7, 3)


@pytest.mark.parametrize(
    ("split", "error", "words"),
    [
        ("test", ValueError, "'train', 'heldout', 'all' or numbers, got 'test'"),
        ("heldout", ValueError, "has 10 initial states"),
        ([], ValueError, "at least one"),
        ([1, 1], ValueError, "none twice"),
        ([3, 10], ValueError, "within 0 to 9"),
        ([1.5], TypeError, "sequence of ints"),
    ],
)
def test_a_wrong_split_is_refused_by_name(split, error, words):
    with pytest.raises(error, match=words):
        resolve_split(split, 10)


def test_consecutive_seeds_visit_every_start_once_before_any_repeats():
    for block in range(3):
        seeds = range(block * len(STARTS), (block + 1) * len(STARTS))
        assert Counter(choose_start(seed, STARTS) for seed in seeds) == Counter(STARTS)


def test_blocks_are_shuffled_differently():
    orders = {
        tuple(choose_start(block * len(STARTS) + i, STARTS) for i in range(len(STARTS)))
        for block in range(4)
    }
    assert len(orders) == 4
