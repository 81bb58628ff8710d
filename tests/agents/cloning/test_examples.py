"""Demonstrations become moments with the chunk of actions that follows each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wmrl_envs.agents.cloning import action_chunks, make_examples

Build = Callable[..., Any]


def test_a_chunk_begins_at_each_step_and_the_robot_rests_beyond_the_end() -> None:
    actions = np.arange(1, 22, dtype=np.float32).reshape(3, 7)
    chunks = action_chunks(actions, 2)
    rest = [0, 0, 0, 0, 0, 0, 21]  # the gripper keeps its last command
    np.testing.assert_array_equal(chunks[0], actions[:2])
    np.testing.assert_array_equal(chunks[2], [actions[2], rest])
    np.testing.assert_array_equal(action_chunks(actions, 1)[:, 0], actions)


@pytest.mark.parametrize("shape", [(0, 7), (3, 6), (7,)])
def test_actions_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"actions must have shape \(T, 7\)"):
        action_chunks(np.zeros(shape, np.float32), 2)


def test_every_moment_but_the_last_becomes_an_example(
    make_model: Build, make_episode: Build
) -> None:
    model, episodes = make_model(action_chunk=3), [make_episode(0, 4), make_episode(1, 6)]
    examples = make_examples(episodes, model)
    assert len(examples) == 10 and examples.tokens.shape == (10, 21)
    np.testing.assert_array_equal(examples.episodes, [0] * 4 + [1] * 6)
    told = model.action_tokenizer.decode(examples.tokens[4]).reshape(3, 7)
    np.testing.assert_allclose(told, episodes[1].intended[:3], atol=1 / 250)
    seen = {name: values[0] for name, values in episodes[1].observations.items()}
    expected = model.encode({"task": "go", **seen})
    assert examples.inputs[4].prompt == expected.prompt
    np.testing.assert_array_equal(examples.inputs[4].context["state"], expected.context["state"])


def test_whole_episodes_are_set_aside(make_model: Build, make_episode: Build) -> None:
    examples = make_examples([make_episode(i, 5) for i in range(10)], make_model())
    kept, aside = examples.split(0.25, seed=1)
    assert len(kept) == 35 and len(aside) == 15
    assert not set(kept.episodes) & set(aside.episodes)
    assert set(examples.split(0.25, seed=2)[1].episodes) != set(aside.episodes)
    assert len(examples.split(0.0)[1]) == 0


def test_one_episode_is_always_kept(make_model: Build, make_episode: Build) -> None:
    kept, aside = make_examples([make_episode(0)], make_model()).split(0.9)
    assert len(kept) == 12 and len(aside) == 0


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_the_share_set_aside_must_be_less_than_all(
    make_model: Build, make_episode: Build, share: float
) -> None:
    with pytest.raises(ValueError, match=r"held_out must be in \[0, 1\)"):
        make_examples([make_episode(0)], make_model()).split(share)


def test_without_demonstrations_there_is_nothing_to_learn(make_model: Build) -> None:
    with pytest.raises(ValueError, match="at least one demonstration"):
        make_examples([], make_model())
