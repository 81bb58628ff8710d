"""Stable-Baselines3 learns on a wrapped environment whose world model can be gamed."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from wmrl_envs.wrappers import (
    AnchorSamplingWrapper,
    CorrectionWrapper,
    Episode,
    WorldModelRewardWrapper,
)
from wmrl_envs.wrappers.estimators import Correction

LONGEST = 100


class LeaningWorldModel:
    """Predicts the pole's time upright, plus far too much for pushing left."""

    def predict(self, episodes: Sequence[Episode]) -> list[float]:
        return [len(e.actions) + 150 * (1 - float(np.mean(e.actions))) for e in episodes]


def wrapped(correct: bool, estimator: Correction) -> gym.Env:
    env: Any = gym.make("CartPole-v1", max_episode_steps=LONGEST)
    env = AnchorSamplingWrapper(env, fraction=0.25)
    env = WorldModelRewardWrapper(env, LeaningWorldModel())
    if correct:
        env = CorrectionWrapper(env, estimator=estimator)
    return gym.wrappers.TransformReward(env, lambda reward: reward / LONGEST)


def true_return(act: Any) -> float:
    """The mean return of 20 episodes in the plain environment."""
    env = gym.make("CartPole-v1", max_episode_steps=LONGEST)
    returns = []
    for seed in range(20):
        obs, _ = env.reset(seed=seed)
        steps, done = 0, False
        while not done:
            obs, _, terminated, truncated, _ = env.step(act(obs))
            steps, done = steps + 1, terminated or truncated
        returns.append(steps)
    return float(np.mean(returns))


def learned_return(correct: bool, steps: int) -> float:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    torch.set_num_threads(1)
    shared = Correction(fraction=0.25)
    envs = DummyVecEnv([lambda: wrapped(correct, shared)] * 8)
    settings = {"n_steps": 256, "batch_size": 256, "gamma": 1.0, "learning_rate": 1e-3}
    model = PPO("MlpPolicy", envs, **settings, gae_lambda=0.98, seed=0, device="cpu")
    model.learn(steps)
    return true_return(lambda obs: int(model.predict(obs, deterministic=True)[0]))


@pytest.mark.slow
def test_ppo_learns_the_task_with_the_correction_and_games_the_world_model_without() -> None:
    actions = gym.spaces.Discrete(2, seed=0)
    untrained = true_return(lambda obs: actions.sample())
    assert learned_return(correct=False, steps=12_000) < untrained
    assert learned_return(correct=True, steps=24_000) > 2 * untrained
