"""Tests of the text space."""

import pickle
from copy import deepcopy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.vector.utils import batch_space

from wmrl_envs.spaces import UnicodeText


class EchoEnv(gym.Env):
    """Its observation is the last action."""

    observation_space = UnicodeText(1000)
    action_space = UnicodeText(1000)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "start…\n", {}

    def step(self, action):
        return action, 0.0, False, False, {}


@pytest.mark.parametrize("text", ["", "a", "é = 1\n\t…", "\x00", "\ud800", "界" * 10])
def test_it_contains_every_string_within_the_bounds(text):
    assert text in UnicodeText(10)


@pytest.mark.parametrize("thing", ["x" * 11, 3, None, b"bytes", ["a"], np.array("a")])
def test_it_contains_no_longer_string_and_nothing_else(thing):
    assert thing not in UnicodeText(10)


def test_it_can_ask_for_a_shortest_length():
    space = UnicodeText(5, min_length=2)
    assert "a" not in space
    assert "ab" in space


@pytest.mark.parametrize("bounds", [(0, 0), (0, 5), (5, 5), (3, 1_000_000)])
def test_samples_are_members_and_stay_short(bounds):
    low, high = bounds
    space = UnicodeText(high, min_length=low, seed=0)
    samples = [space.sample() for _ in range(200)]
    assert all(sample in space for sample in samples)
    assert max(map(len, samples)) <= low + 64


def test_equal_seeds_give_equal_samples():
    samples = [[UnicodeText(50, seed=seed).sample() for _ in range(5)] for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]


@pytest.mark.parametrize("bounds", [(-1, 3), (4, 3)])
def test_impossible_lengths_are_refused(bounds):
    with pytest.raises(ValueError, match="min_length"):
        UnicodeText(bounds[1], min_length=bounds[0])


@pytest.mark.parametrize("length", [3.5, "3", None, True])
def test_lengths_that_are_no_integers_are_refused(length):
    with pytest.raises(TypeError, match="max_length"):
        UnicodeText(length)


def test_a_mask_for_sampling_is_refused():
    with pytest.raises(ValueError, match="mask"):
        UnicodeText(3).sample(mask=1)


def test_spaces_of_equal_bounds_are_equal():
    assert UnicodeText(3) == UnicodeText(3)
    assert len({UnicodeText(3), UnicodeText(3)}) == 1
    assert UnicodeText(3) != UnicodeText(4)
    assert UnicodeText(3) != gym.spaces.Text(3)


def test_its_repr_is_short_and_copies_are_equal():
    space = UnicodeText(1_000_000)
    assert repr(space) == "UnicodeText(0, 1000000)"
    assert pickle.loads(pickle.dumps(space)) == deepcopy(space) == space


def test_samples_survive_the_way_through_json():
    space = UnicodeText(20, seed=0)
    samples = [space.sample() for _ in range(5)]
    assert space.from_jsonable(space.to_jsonable(samples)) == samples


def test_a_batch_of_texts_is_a_tuple_of_strings():
    envs = SyncVectorEnv([EchoEnv, EchoEnv])
    assert envs.action_space == batch_space(UnicodeText(1000), 2)
    observations, _ = envs.reset()
    assert observations == ("start…\n", "start…\n")
    assert envs.step(("a b\n", "é"))[0] == ("a b\n", "é")


def test_worker_processes_return_every_character():
    envs = AsyncVectorEnv([EchoEnv, EchoEnv], shared_memory=False)
    try:
        envs.reset()
        assert envs.step(("a b\n", "é"))[0] == ("a b\n", "é")
    finally:
        envs.close()


def test_shared_memory_fails_loudly_instead_of_corrupting_the_text():
    with pytest.raises(ValueError, match="shared_memory"):
        AsyncVectorEnv([EchoEnv], shared_memory=True)
