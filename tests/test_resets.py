"""What is read from a reset: who may execute, which seed goes where, what the task says."""

from typing import Any

import numpy as np
import pytest

from wmrl_envs.resets import may_execute, seed_list, task_text


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        (None, True),
        ({}, True),
        ({"execute": np.False_}, False),
        ({"execute": [3]}, True),
        ({"execute": np.array([4])}, False),
        ({"execute": ()}, False),
    ],
)
def test_an_episode_may_execute_unless_the_option_leaves_its_seed_out(
    options: Any, allowed: bool
) -> None:
    assert may_execute(options, seed=3) is allowed


def test_an_unseeded_episode_is_in_no_collection_of_seeds() -> None:
    assert may_execute({"execute": True}, seed=None)
    assert not may_execute({"execute": {0, None}}, seed=None)


@pytest.mark.parametrize("execute", ["3", b"3", 3, None])
def test_anything_else_is_named(execute: Any) -> None:
    with pytest.raises(TypeError, match="execute.* must be a bool or a collection"):
        may_execute({"execute": execute}, seed=3)


@pytest.mark.parametrize(
    ("seed", "spread"),
    [
        (None, [None, None]),
        (np.int64(4), [4, 5]),
        ([4, None], [4, None]),
        (np.array([4, 5]), [4, 5]),
    ],
)
def test_seeds_are_spread_as_gymnasium_does(seed: Any, spread: list[int | None]) -> None:
    assert seed_list(seed, 2) == spread


@pytest.mark.parametrize("seed", ["12", 1.5, [1.5, 2.5], ["1", "2"]])
def test_seeds_that_are_no_integers_are_named(seed: Any) -> None:
    with pytest.raises(TypeError, match="seed must"):
        seed_list(seed, 2)


def test_a_wrong_number_of_seeds_is_named() -> None:
    with pytest.raises(ValueError, match=r"seed must hold 3 seeds, got 2: \[1, 2\]"):
        seed_list([1, 2], 3)


@pytest.mark.parametrize(
    ("observation", "text"),
    [("Fit.", "Fit."), ({"task": "Fit.", "turn": 0}, "Fit."), ({"task": 3}, ""), (np.ones(2), "")],
)
def test_the_task_is_the_text_that_is_there(observation: Any, text: str) -> None:
    assert task_text(observation) == text
