"""Tests of the reward arms on LIBERO, on an environment that needs no simulator."""

import gymnasium as gym
import numpy as np
import pytest

from wmrl_envs.benchmarks.autoresearch.arms import stack
from wmrl_envs.benchmarks.libero_long.arms import ARMS
from wmrl_envs.wrappers.vector import FreezeWrapper

LENGTH = 12


def prophet(episodes):
    """Predicts by the actions, on a scale of its own."""
    return [0.3 + 0.4 * float(np.mean(episode.actions)) for episode in episodes]


def last_step(arm):
    envs = gym.make_vec("CartPole-v1", 8, "sync", max_episode_steps=LENGTH)
    envs = stack(FreezeWrapper(envs), ARMS[arm], prophet if ARMS[arm].world_model else None, seed=0)
    envs.reset(seed=[0] * 4 + [1] * 4)
    generator = np.random.default_rng(0)
    total, found = np.zeros(8), {}
    for _ in range(LENGTH):
        _, rewards, _, _, infos = envs.step(generator.integers(2, size=8))
        total += rewards
        for key, mask in infos.items():
            if key.startswith("_"):
                found.setdefault(key[1:], np.full(8, None, object))[mask] = infos[key[1:]][mask]
    envs.close()
    return total, found


def test_sparse_grpo_has_the_environments_own_rewards():
    total, infos = last_step("real")
    assert (total > 5).all()
    assert "predicted_reward" not in infos


def test_the_pure_world_model_sees_no_measurement():
    total, infos = last_step("world-model")
    assert np.array_equal(total, infos["predicted_reward"].astype(float))
    assert "measured_reward" not in infos


@pytest.mark.parametrize("arm", ["mixture", "debias", "denoise", "wmrl"])
def test_the_others_mix_both_grades_of_every_episode(arm):
    total, infos = last_step(arm)
    measured, predicted, corrected = (
        infos[f"{name}_reward"].astype(float) for name in ("measured", "predicted", "corrected")
    )
    share = (total - corrected) / (measured - corrected)
    assert np.ptp(share.reshape(2, 4), axis=1) == pytest.approx([0.0, 0.0])
    assert ((share > 0.499) & (share < 1)).all()
    debiased = arm in ("debias", "wmrl")
    assert np.allclose(corrected, predicted) == (not debiased)
    if arm in ("mixture", "debias"):
        assert share == pytest.approx(0.5)
    assert (infos["reward_weight"] == 1.0).all()
