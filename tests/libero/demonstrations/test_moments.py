"""Pictures of recorded states are those of the episode, without playing it again."""

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from wmrl_envs.libero.demonstrations import Demonstration, Recipe, record, render_moments

pytestmark = pytest.mark.sim

N, SIDE = 4, 64


@pytest.fixture(scope="module")
def env() -> Iterator[gym.Env[Any, Any]]:
    found = gym.make("WMRL/LiberoLong-v0", task_id=5, observation="state", image_size=SIDE)
    yield found
    found.close()


@pytest.fixture(scope="module")
def episode(env: gym.Env[Any, Any]) -> tuple[Demonstration, np.ndarray]:
    """An episode and the pictures that its environment renders of it."""
    found = record(env, Recipe(5, init_state_id=1, failure="miss"))
    return found, env.unwrapped.render_frames(N)


def test_recorded_states_show_what_the_environment_showed(
    episode: tuple[Demonstration, np.ndarray],
) -> None:
    demonstration, shown = episode
    [pictures] = render_moments([demonstration], N, SIDE)
    assert pictures.shape == shown.shape and pictures.dtype == np.uint8
    difference = np.abs(pictures.astype(float) - shown).mean(axis=(1, 2, 3))
    moved = np.abs(shown[1:].astype(float) - shown[:-1]).mean()
    assert difference[[0, -1]].max() < 0.01  # nothing moves there
    assert difference.max() < 0.25 * moved


def test_an_unknown_camera_is_refused(episode: tuple[Demonstration, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="agentview"):
        next(render_moments([episode[0]], N, SIDE, camera="nowhere"))
