"""Tests that Stable-Baselines3 trains on LIBERO behind the reward path."""

import gymnasium as gym
import numpy as np
import pytest

import wmrl_envs  # noqa: F401
from wmrl_envs.wrappers import AnchorSamplingWrapper, CorrectionWrapper, WorldModelRewardWrapper

pytestmark = [pytest.mark.sim, pytest.mark.slow]

sb3 = pytest.importorskip("stable_baselines3")

STEPS = 64
"""Steps of one rollout of PPO; episodes have 8, so there are eight episodes in it."""


def height(episodes):
    """A world model: how far up the last commands went."""
    return [float(np.clip(np.mean([a[2] for a in e.actions]), 0, 1)) for e in episodes]


@pytest.fixture(scope="module")
def env():
    found = gym.make(
        "WMRL/LiberoLong-v0",
        task_id=2,
        observation="state",
        instruction=False,
        settle=1,
        max_episode_steps=8,
    )
    found = AnchorSamplingWrapper(found, fraction=0.5, seed=0)
    found = CorrectionWrapper(WorldModelRewardWrapper(found, height))
    yield found
    found.close()


def test_ppo_trains_on_the_wrapped_environment_and_evaluates_it(env, tmp_path):
    from stable_baselines3.common.callbacks import CheckpointCallback, EvalCallback
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    monitored = Monitor(env, info_keywords=("is_success", "graded", "reward_source"))
    model = sb3.PPO("MultiInputPolicy", monitored, n_steps=STEPS, batch_size=32, n_epochs=2, seed=0)
    before = {k: v.clone() for k, v in model.policy.state_dict().items()}
    saving = CheckpointCallback(STEPS, str(tmp_path))
    evaluating = EvalCallback(
        monitored, n_eval_episodes=1, eval_freq=STEPS, log_path=str(tmp_path), verbose=0
    )
    model.learn(2 * STEPS, callback=[saving, evaluating])
    assert any((before[k] != v).any() for k, v in model.policy.state_dict().items())
    episodes = list(model.ep_info_buffer)
    assert {e["reward_source"] for e in episodes} == {"measured", "world_model"}
    assert all(e["graded"] and not e["is_success"] for e in episodes)
    assert evaluating.evaluations_length == [[8], [8]]
    assert len(list(tmp_path.glob("rl_model_*.zip"))) == 2
    rewards, lengths = evaluate_policy(model, monitored, 2, return_episode_rewards=True)
    assert lengths == [8, 8]
    assert np.isfinite(rewards).all()
    model.save(tmp_path / "last")
    restored = sb3.PPO.load(tmp_path / "last", env=monitored)
    observation, _ = monitored.reset(seed=3)
    assert np.array_equal(
        *(m.predict(observation, deterministic=True)[0] for m in (model, restored))
    )
