"""A progress model learns from demonstrations and grades LIBERO through the wrapper."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest

from wmrl_envs import info as keys
from wmrl_envs.libero.demonstrations import (
    Demonstration,
    Recipe,
    record,
    render_moments,
    spread_moments,
)
from wmrl_envs.wrappers import WorldModelRewardWrapper
from wmrl_envs.wrappers.world_models import (
    Episode,
    Prediction,
    ProgressClip,
    ProgressSettings,
    ProgressWorldModel,
    train_progress,
)

pytestmark = [pytest.mark.sim, pytest.mark.slow]

FRAMES, SIDE = 8, 64
SETTINGS = ProgressSettings(epochs=40, image_size=32, batch_size=8, shift=1)


class Listening:
    """Passes episodes on to a model and keeps them."""

    def __init__(self, model: ProgressWorldModel) -> None:
        self.model, self.episodes = model, list[Episode]()

    def predict(self, episodes: list[Episode]) -> list[Prediction]:
        self.episodes += episodes
        return self.model.predict(episodes)


@pytest.fixture(scope="module")
def env() -> Iterator[gym.Env[Any, Any]]:
    found = gym.make(
        "WMRL/LiberoLong-v0",
        task_id=5,
        observation="state",
        image_size=SIDE,
        render_mode="rgb_array",
    )
    yield found
    found.close()


@pytest.fixture(scope="module")
def demonstrations(env: gym.Env[Any, Any]) -> list[Demonstration]:
    """One that succeeds and one that gives up."""
    return [record(env, Recipe(5, 0, failure=failure)) for failure in (None, "stop")]


@pytest.fixture(scope="module")
def model(demonstrations: list[Demonstration]) -> ProgressWorldModel:
    clips = [
        ProgressClip(found.instruction, frames, found.progress[spread_moments(len(found), FRAMES)])
        for found, frames in zip(
            demonstrations, render_moments(demonstrations, FRAMES, SIDE), strict=True
        )
    ]
    return train_progress(clips, SETTINGS)


def test_a_success_that_it_has_learned_is_graded_above_a_failure(
    env: gym.Env[Any, Any], model: ProgressWorldModel, demonstrations: list[Demonstration]
) -> None:
    listening = Listening(model)
    (success, _), (failure, info) = (_graded(env, listening, found) for found in demonstrations)
    assert success > 0.5 > failure
    assert (info[keys.REWARD_SOURCE], info[keys.PREDICTED_REWARD]) == (keys.WORLD_MODEL, failure)
    for episode, found in zip(listening.episodes, demonstrations, strict=True):
        assert episode.task == found.instruction
        assert episode.frames is not None
        assert episode.frames.shape == (FRAMES, SIDE, SIDE, 3)
        assert len(episode.actions) == len(found)


def _graded(
    env: gym.Env[Any, Any], model: Listening, demonstration: Demonstration
) -> tuple[float, dict[str, Any]]:
    """The reward of an episode of the demonstration's actions, and the info of its end."""
    limited = gym.wrappers.TimeLimit(env, len(demonstration))
    graded = WorldModelRewardWrapper(limited, model, frames=FRAMES)
    graded.reset(options={"task_id": 5, "init_state_id": demonstration.recipe.init_state_id})
    for action in demonstration.actions:
        _, reward, terminated, truncated, info = graded.step(action)
    assert terminated or truncated
    return float(reward), info
