"""Tests of many LIBERO episodes on a few simulators."""

import multiprocessing

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode

from wmrl_envs.libero.crew import WorkerDied
from wmrl_envs.libero.env import LiberoEnv
from wmrl_envs.libero.vector_env import LiberoVectorEnv

pytestmark = pytest.mark.sim

ARGUMENTS = {
    "task_id": 2,
    "observation": "state",
    "action_chunk": 2,
    "horizon": 6,
    "settle": 1,
    "image_size": 32,
    "render_mode": "rgb_array",
}


@pytest.fixture(scope="module")
def envs():
    found = LiberoVectorEnv(num_envs=3, workers=0, **ARGUMENTS)
    yield found
    found.close()


@pytest.fixture(scope="module")
def single():
    found = LiberoEnv(**ARGUMENTS)
    yield found
    found.close()


def actions(steps, n=3):
    return np.random.default_rng(0).uniform(-1, 1, (steps, n, 2, 7)).astype(np.float32)


def play(envs, chosen, seeds):
    observations = [envs.reset(seed=seeds)[0]]
    return observations + [envs.step(action)[0] for action in chosen]


def test_episodes_that_share_a_simulator_are_those_of_environments_of_their_own(envs, single):
    chosen = actions(3)
    shared = play(envs, chosen, [0, 1, 2])
    for i in range(3):
        own = [single.reset(seed=i)[0]] + [single.step(action[i])[0] for action in chosen]
        for mine, theirs in zip(own, shared, strict=True):
            assert mine["task"] == theirs["task"][i]
            for key in mine.keys() - {"task"}:
                assert np.array_equal(mine[key], theirs[key][i]), key
        assert np.array_equal(single.render_frames(3), envs.render_frames(3, [i])[0])
        assert np.array_equal(single.render(), envs.render()[i])


def test_a_finished_episode_freezes_until_its_reset(envs):
    played = play(envs, actions(3), [0, 1, 2])
    _, rewards, terminated, truncated, infos = envs.step(actions(1)[0])
    assert truncated.all() and not terminated.any()
    assert (rewards.tolist(), infos) == ([0.0] * 3, {})
    mask = np.array([False, True, False])
    observations, infos = envs.reset(seed=[None, 1, None], options={"reset_mask": mask})
    assert np.array_equal(observations["robot0_eef_pos"][1], played[0]["robot0_eef_pos"][1])
    assert np.array_equal(observations["robot0_eef_pos"][0], played[-1]["robot0_eef_pos"][0])
    assert infos["_init_state_id"].tolist() == [False, True, False]
    _, _, _, truncated, infos = envs.step(actions(1)[0])
    assert truncated.tolist() == [True, False, True]
    assert infos["_is_success"].tolist() == [False, True, False]


def test_seeds_name_the_starts(envs):
    assert {envs.start_of(seed) for seed in range(16)} == set(envs.starts)
    _, infos = envs.reset(seed=[3, 3, 9])
    assert [envs.start_of(s)[1] for s in (3, 3, 9)] == infos["init_state_id"].tolist()


def test_without_a_seed_starts_are_drawn_from_the_generator(envs):
    draws = []
    for _ in range(2):
        envs.reset(seed=5)
        envs.np_random = np.random.default_rng(7)
        draws.append(envs.reset()[1]["init_state_id"].tolist())
    assert draws[0] == draws[1]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [(np.zeros((3, 7)), r"\(3, 2, 7\)"), (np.full((3, 2, 7), np.nan), "finite")],
)
def test_impossible_actions_are_refused(envs, chosen, message):
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        envs.step(chosen)


def test_steps_are_limited_as_gymnasium_asks():
    envs = gym.make_vec(
        "WMRL/LiberoLong-v0", num_envs=2, workers=0, max_episode_steps=1, **ARGUMENTS
    )
    with pytest.raises(ResetNeeded):
        envs.step(actions(1, 2)[0])
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset(seed=0)
    *_, truncated, _ = envs.step(actions(1, 2)[0])
    assert truncated.all()
    assert envs.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    envs.close()
    with pytest.raises(ClosedEnvironmentError):
        envs.reset()


@pytest.mark.slow
def test_processes_simulate_what_this_one_does_and_their_death_is_said(envs):
    chosen = actions(3)
    here = play(envs, chosen, [0, 1, 2])
    apart = LiberoVectorEnv(num_envs=3, workers=2, **ARGUMENTS)
    there = play(apart, chosen, [0, 1, 2])
    for mine, theirs in zip(here, there, strict=True):
        assert all(np.array_equal(mine[key], theirs[key]) for key in mine if key != "task")
    apart.reset(seed=0)
    with pytest.raises(ValueError, match="init_state_id") as raised:
        apart.reset(options={"init_state_id": 99})
    assert "in a simulator's process" in "".join(raised.value.__notes__)
    multiprocessing.active_children()[0].kill()
    with pytest.raises(WorkerDied, match="exit code -9"):
        apart.step(chosen[0])
    apart.close()
