"""The expert in the simulator: episodes recorded, repeated and written as a dataset."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from wmrl_envs.libero.demonstrations import (
    Demonstration,
    Pictures,
    Recipe,
    Store,
    collect,
    record,
    replay,
    write_minari,
)
from wmrl_envs.libero.expert import FAILURES, PLANS, ScriptedExpert

pytestmark = pytest.mark.sim

BOOK = 5
"""The task with the shortest episodes."""
NOISY = Recipe(BOOK, init_state_id=2, noise=0.1)


def make(**options: Any) -> gym.Env[Any, Any]:
    defaults = {"split": "all", "observation": "state", "image_size": 64}
    return gym.make("WMRL/LiberoLong-v0", **{**defaults, **options})


@pytest.fixture(scope="module")
def env() -> Iterator[gym.Env[Any, Any]]:
    found = make(task_id=BOOK)
    yield found
    found.close()


@pytest.fixture(scope="module")
def noisy(env: gym.Env[Any, Any]) -> Demonstration:
    return record(env, NOISY)


def test_the_expert_is_a_policy_that_solves_the_task(env: gym.Env[Any, Any]) -> None:
    env.reset(options={"init_state_id": 20})
    expert = ScriptedExpert()
    expert.reset(env)
    done, total = False, 0.0
    while not done:
        _, reward, terminated, truncated, info = env.step(expert.act())
        done, total = terminated or truncated, total + float(reward)
    assert total == 1.0
    assert info["is_success"]


def test_a_demonstration_holds_every_moment(noisy: Demonstration) -> None:
    assert noisy.success
    moments = len(noisy) + 1
    assert all(len(values) == moments for values in noisy.observations.values())
    assert len(noisy.states) == len(noisy.progress) == moments
    assert noisy.progress[0] == 0.0 and noisy.progress[-1] == 1.0
    assert noisy.rewards.sum() == noisy.rewards[-1] == 1.0
    assert noisy.goal_distances[0].item() > noisy.goal_distances[-1].item() == 0.0
    assert {"Grasp", "Place"} <= set(noisy.skills)


def test_noise_is_added_to_the_intended_motion_and_never_to_the_gripper(
    noisy: Demonstration,
) -> None:
    unclipped = np.abs(noisy.actions[:, :6]) < 1.0
    noise = (noisy.actions - noisy.intended)[:, :6][unclipped]
    assert 0.07 < noise.std() < 0.13
    assert np.array_equal(noisy.actions[:, 6], noisy.intended[:, 6])


def test_played_again_it_succeeds_bit_for_bit(env: gym.Env[Any, Any], noisy: Demonstration) -> None:
    played = replay(env, noisy)
    assert (played.success, played.first_difference) == (True, None)


def test_a_changed_action_is_found_out(env: gym.Env[Any, Any], noisy: Demonstration) -> None:
    actions = noisy.actions.copy()
    actions[4, 0] -= 0.01
    assert replay(env, replace(noisy, actions=actions)).first_difference == 5


def test_one_recipe_gives_one_episode(env: gym.Env[Any, Any], noisy: Demonstration) -> None:
    again, other = record(env, NOISY), record(env, replace(NOISY, seed=1))
    assert np.array_equal(again.states, noisy.states)
    assert not np.array_equal(other.actions[:50], noisy.actions[:50])


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_on_purpose_ends_without_success(env: gym.Env[Any, Any], failure: Any) -> None:
    found = record(env, Recipe(BOOK, init_state_id=3, failure=failure))
    assert not found.success
    assert found.progress[-1] < 1.0
    assert len(found) < 250


def test_an_interrupted_collection_goes_on_where_it_stopped(
    env: gym.Env[Any, Any], tmp_path: Path
) -> None:
    store, recipes = Store(tmp_path), [Recipe(BOOK, state, failure="stop") for state in (0, 1)]
    next(collect(env, recipes, store))
    assert [recipe in store for recipe in recipes] == [True, False]
    before = store.path(recipes[0]).stat().st_mtime_ns
    assert len(list(collect(env, recipes, store))) == 2
    assert store.path(recipes[0]).stat().st_mtime_ns == before


def test_minari_reads_the_dataset_with_its_pictures(
    env: gym.Env[Any, Any], noisy: Demonstration, tmp_path: Path
) -> None:
    minari = pytest.importorskip("minari")
    pictures = Pictures(size=64)
    dataset = minari.MinariDataset(write_minari([noisy], env, tmp_path, pictures) / "data")
    episode = dataset[0]
    assert np.array_equal(episode.actions, noisy.actions)
    assert np.array_equal(episode.infos["progress"], noisy.progress)
    assert episode.terminations.tolist() == [False] * (len(noisy) - 1) + [True]
    images = episode.observations["agentview_image"]
    assert images.shape == (len(noisy) + 1, 64, 64, 3)
    assert np.array_equal(images, pictures.of(env, noisy)["agentview_image"])
    (facts,) = dataset.storage.get_episode_metadata([0])
    assert facts["is_success"] and facts["options"] == {"task_id": BOOK, "init_state_id": 2}


def test_a_dataset_holds_one_task(
    env: gym.Env[Any, Any], noisy: Demonstration, tmp_path: Path
) -> None:
    stranger = replace(noisy, recipe=replace(NOISY, task_id=0))
    with pytest.raises(ValueError, match=r"of one task, got those of \[0, 5\]"):
        write_minari([noisy, stranger], env, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("task_id", sorted(PLANS))
def test_the_expert_solves_every_task(task_id: int) -> None:
    env = make(task_id=task_id)
    found = record(env, Recipe(task_id, init_state_id=1))
    assert found.success
    assert replay(env, found).first_difference is None
    env.close()
