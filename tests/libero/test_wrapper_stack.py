"""Tests that the reward path wraps LIBERO as it wraps AutoResearch."""

import gymnasium as gym
import numpy as np
import pytest
from testing_libero import clumsy_actions

from wmrl_envs.libero.env import LiberoEnv
from wmrl_envs.libero.vector_env import LiberoVectorEnv
from wmrl_envs.wrappers import (
    AnchorSamplingWrapper,
    CorrectionWrapper,
    Prediction,
    WorldModelRewardWrapper,
    vector,
)

pytestmark = pytest.mark.sim


class Impression:
    """A world model that remembers what it was shown."""

    def __init__(self) -> None:
        self.episodes = []

    def predict(self, episodes):
        self.episodes += episodes
        return [Prediction(0.25) for _ in episodes]


def stack(env, model, fraction, limit=3):
    env = gym.wrappers.TimeLimit(env, limit)
    env = AnchorSamplingWrapper(env, fraction=fraction, seed=0)
    return CorrectionWrapper(WorldModelRewardWrapper(env, model, frames=4))


def last_step(env, seed):
    env.reset(seed=seed)
    said = [env.step(action) for action in clumsy_actions(3)]
    assert [step[1] for step in said[:-1]] == [0.0, 0.0]
    assert said[-1][3]
    return said[-1]


@pytest.mark.parametrize(("fraction", "source"), [(1.0, "measured"), (0.0, "world_model")])
def test_a_failed_episode_is_graded_by_success_or_by_the_model(env, fraction, source):
    model = Impression()
    _, reward, _, _, info = last_step(stack(env, model, fraction), seed=0)
    assert info["reward_source"] == source
    assert info["predicted_reward"] == 0.25
    assert (info["graded"], info["is_success"]) == (True, False)
    assert info.get("measured_reward") == (0.0 if source == "measured" else None)
    assert np.isfinite(reward)


def test_the_model_sees_the_instruction_the_actions_and_the_frames(env):
    model = Impression()
    last_step(stack(env, model, 0.5), seed=0)
    [seen] = model.episodes
    assert seen.task == "turn on the stove and put the moka pot on it"
    assert len(seen.actions) == 3
    assert seen.frames.shape == (4, 64, 64, 3)


def test_success_is_the_anchors_measured_reward(env):
    wrapped = stack(env, Impression(), 1.0, limit=25)
    wrapped.reset(seed=0)
    data = env.simulation.data
    data.joint("flat_stove_1_button").qpos[0] = 1.5
    pot = data.joint("moka_pot_1_joint0").qpos
    pot[:3] = data.site("flat_stove_1_cook_region").xpos + np.array([0.0, 0.0, 0.06])
    done = False
    while not done:
        _, _, terminated, truncated, info = wrapped.step(np.array([0, 0, 0, 0, 0, 0, -1.0]))
        done = terminated or truncated
    assert (terminated, info["is_success"], info["measured_reward"]) == (True, True, 1.0)


def test_groups_of_one_seed_start_alike_and_are_anchored_together(env):
    starts = []
    for _ in range(2):
        wrapped = AnchorSamplingWrapper(env, fraction=0.5, seed=0)
        infos = [wrapped.reset(seed=seed)[1] for seed in range(4)]
        starts.append([(info["init_state_id"], info["anchor"], info["group"]) for info in infos])
    assert starts[0] == starts[1]
    assert sum(anchor for _, anchor, _ in starts[0]) == 2


@pytest.mark.slow
def test_a_vector_stack_draws_frames_of_ended_episodes_alone_and_as_the_single_one_does(env):
    arguments = {"task_id": 2, "observation": "state", "action_chunk": 2, "settle": 1}
    arguments |= {"image_size": 32, "render_mode": "rgb_array"}
    model, single = Impression(), Impression()
    envs = LiberoVectorEnv(num_envs=2, workers=0, horizon=4, **arguments)
    stacked = vector.WorldModelRewardWrapper(envs, model, frames=3)
    own = WorldModelRewardWrapper(LiberoEnv(horizon=4, **arguments), single, frames=3)
    chosen = np.random.default_rng(0).uniform(-1, 1, (2, 2, 2, 7)).astype(np.float32)
    stacked.reset(seed=[0, 1])
    rewards = [stacked.step(action)[1].tolist() for action in chosen]
    for seed in range(2):
        own.reset(seed=seed)
        for action in chosen:
            own.step(action[seed])
    assert rewards == [[0.0, 0.0], [0.25, 0.25]]
    assert len(model.episodes) == len(single.episodes) == 2
    for mine, theirs in zip(model.episodes, single.episodes, strict=True):
        assert mine.frames.shape == (3, 32, 32, 3)
        assert np.array_equal(mine.frames, theirs.frames)
    stacked.close()
    own.close()
