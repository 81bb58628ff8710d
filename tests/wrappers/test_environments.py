"""The stack goes around any environment, and Gymnasium's own checks find nothing wrong with it."""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from testing_env import GenericTestEnv, LengthWorldModel, play

from wmrl_envs import wrappers as single
from wmrl_envs.wrappers import vector

MAKERS = {
    "CartPole": lambda: gym.make("CartPole-v1", max_episode_steps=30),
    "FrozenLake": lambda: gym.make("FrozenLake-v1", is_slippery=False),
    "Pendulum": lambda: gym.make("Pendulum-v1", max_episode_steps=30),
    "Dict": lambda: GenericTestEnv("dict"),
    "text": lambda: GenericTestEnv("text"),
}


def wrapped(kind: Any, env: Any, **arguments: Any) -> Any:
    env = kind.AnchorSamplingWrapper(env, fraction=0.25)
    env = kind.WorldModelRewardWrapper(env, LengthWorldModel())
    return kind.CorrectionWrapper(env, **arguments)


@pytest.mark.parametrize("method", ["rectified", "paper", "reference"])
@pytest.mark.parametrize("name", MAKERS)
def test_a_stack_grades_every_episode_with_finite_rewards(name: str, method: str) -> None:
    env = wrapped(single, MAKERS[name](), method=method)
    anchors = 0
    for seed in range(40):
        first, rewards, info = play(env, seed=seed)
        assert np.all(np.isfinite(rewards))
        assert {type(reward) for reward in rewards} == {float}
        assert not any(rewards[:-1])
        assert info["graded"] is True
        assert info["reward_source"] == ("measured" if first["anchor"] else "world_model")
        assert ("measured_reward" in info) == first["anchor"]
        anchors += first["anchor"]
    assert anchors == 10


@pytest.mark.parametrize("name", MAKERS)
def test_anchors_measure_the_return_of_the_plain_environment(name: str) -> None:
    env, plain = wrapped(single, MAKERS[name]()), MAKERS[name]()
    for seed in range(8):
        info = play(env, seed=seed)[2]
        if "measured_reward" in info:
            assert info["measured_reward"] == pytest.approx(sum(play(plain, seed=seed)[1]))


@pytest.mark.parametrize("name", MAKERS)
def test_a_vector_stack_grades_every_episode(name: str) -> None:
    env = wrapped(vector, vector.FreezeWrapper(gym.vector.SyncVectorEnv([MAKERS[name]] * 8)))
    env.action_space.seed(0)
    for round_ in range(5):
        env.reset(seed=[4 * round_ + i // 2 for i in range(8)])
        done, graded = np.zeros(8, bool), np.zeros(8, int)
        while not done.all():
            _, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
            assert np.all(np.isfinite(rewards))
            assert rewards.dtype == np.float64
            graded += infos.get("graded", np.zeros(8, bool))
            done = terminations | truncations
        assert graded.tolist() == [1] * 8
    assert env.diagnostics()["anchor_share"] == 0.25


def test_the_natively_vectorised_cart_pole_can_be_wrapped() -> None:
    env = wrapped(vector, gym.make_vec("CartPole-v1", num_envs=4))
    env.reset(seed=0)
    env.action_space.seed(0)
    graded = 0
    for _ in range(200):
        infos = env.step(env.action_space.sample())[4]
        graded += int(np.sum(infos.get("graded", 0)))
    assert graded > 8


@pytest.mark.parametrize("name", ["CartPole", "FrozenLake", "Pendulum"])
def test_gymnasiums_own_check_passes(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(wrapped(single, MAKERS[name]()), skip_render_check=True)


def test_reward_statistics_of_gymnasium_go_around_the_stack() -> None:
    env = gym.wrappers.RecordEpisodeStatistics(wrapped(single, MAKERS["CartPole"]()))
    env = gym.wrappers.NormalizeReward(env)
    for seed in range(20):
        _, rewards, info = play(env, seed=seed)
        assert np.isfinite(info["episode"]["r"])
        assert np.all(np.isfinite(rewards))
