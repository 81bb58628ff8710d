"""Anchor sampling around a single environment."""

from typing import Any

import numpy as np
import pytest
from testing_env import GenericTestEnv, play

from wmrl_envs.wrappers import AnchorSamplingWrapper, WorldModelRewardWrapper


def sampled(fraction: float = 0.5, **arguments: Any) -> AnchorSamplingWrapper:
    return AnchorSamplingWrapper(GenericTestEnv(**arguments), fraction=fraction)


def test_the_reset_seed_names_the_group() -> None:
    first, _, last = play(sampled(), seed=17)
    assert first["group"] == last["group"] == 17
    assert first["anchor"] == last["anchor"]


def test_all_episodes_of_one_seed_are_anchors_or_none_is() -> None:
    env = sampled()
    for seed in range(20):
        assert len({env.reset(seed=seed)[1]["anchor"] for _ in range(3)}) == 1


def test_an_option_overrides_the_group() -> None:
    env = sampled()
    anchors = {seed: env.reset(seed=seed)[1]["anchor"] for seed in range(10)}
    for group in range(10):
        info = env.reset(seed=3, options={"group": group})[1]
        assert info == {"group": group, "anchor": anchors[group]}


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.25, 1.0])
def test_the_budget_is_exact_over_seeds_and_over_unseeded_episodes(fraction: float) -> None:
    env = sampled(fraction)
    seeded = [env.reset(seed=seed)[1]["anchor"] for seed in range(40)]
    unseeded = [env.reset()[1]["anchor"] for _ in range(40)]
    assert sum(seeded) == sum(unseeded) == 40 * fraction


def test_unseeded_episodes_get_groups_of_their_own_in_a_fixed_order() -> None:
    def groups() -> list[int]:
        env = sampled()
        return [env.reset(seed=seed)[1]["group"] for seed in (5, None, None, 6, None)]

    assert groups() == groups()
    assert len(set(groups())) == 5
    assert (groups()[0], groups()[3]) == (5, 6)


def test_without_any_seed_groups_are_still_distinct() -> None:
    env = sampled()
    assert len({env.reset()[1]["group"] for _ in range(5)}) == 5


@pytest.mark.parametrize(
    ("execute", "allowed"),
    [(True, True), (False, False), ({4, 7}, True), ([1, 2], False), (np.array([4]), True)],
)
def test_execute_is_handed_down_for_anchors_that_the_caller_allows(
    execute: Any, allowed: bool
) -> None:
    for fraction in (0.0, 1.0):
        env = sampled(fraction)
        info = env.reset(seed=4, options={"execute": execute, "task": "iris"})[1]
        expected = allowed and fraction == 1.0
        assert env.unwrapped.resets[-1] == (4, {"execute": expected, "task": "iris"})
        assert info["anchor"] is expected


def test_the_callers_options_are_left_alone() -> None:
    options = {"execute": True}
    sampled(0.0).reset(seed=1, options=options)
    assert options == {"execute": True}


def test_an_anchors_measured_reward_is_its_return() -> None:
    _, rewards, info = play(sampled(1.0), seed=2)
    assert info["measured_reward"] == sum(rewards) > 0
    assert (info["graded"], info["reward_source"]) == (True, "measured")


def test_the_environments_own_measured_reward_goes_first() -> None:
    _, rewards, info = play(sampled(1.0, reports=True), seed=2)
    assert info["measured_reward"] == pytest.approx(10 * sum(rewards))


@pytest.mark.parametrize("reports", [True, False])
def test_other_groups_get_no_reward_and_are_ungraded(reports: bool) -> None:
    _, rewards, info = play(sampled(0.0, reports=reports), seed=2)
    assert set(rewards) == {0.0}
    assert info == {"group": 2, "anchor": False, "graded": False, "reward_source": "none"}


def test_an_anchor_whose_reward_failed_is_ungraded() -> None:
    _, rewards, info = play(sampled(1.0, failing=(2,)), seed=2)
    assert info["graded"] is False
    assert "measured_reward" not in info
    assert rewards[-1] == 0.0


def test_info_values_are_plain_python_values() -> None:
    first, rewards, last = play(sampled(1.0), seed=np.int64(2).item(), options={"group": 3})
    types = {"group": int, "anchor": bool, "measured_reward": float, "graded": bool}
    types["reward_source"] = str
    assert {key: type(value) for key, value in last.items()} == types
    assert {type(value) for value in first.values()} == {int, bool}
    assert {type(reward) for reward in rewards} == {float}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"execute": "yes"}, "execute.* must be a bool or a collection of reset seeds, got 'yes'"),
        ({"execute": 3}, "execute"),
        ({"group": "a"}, "group.* must be an integer, got 'a'"),
        ({"group": True}, "group"),
        ({"group": [1, 2]}, "group"),
    ],
)
def test_bad_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        sampled().reset(seed=0, options=options)


def test_the_wrapper_belongs_nearest_to_the_environment() -> None:
    inner = WorldModelRewardWrapper(GenericTestEnv(), lambda episodes: [0.0] * len(episodes))
    with pytest.raises(ValueError, match="belongs beneath WorldModelRewardWrapper"):
        AnchorSamplingWrapper(inner)
    with pytest.raises(ValueError, match="once"):
        AnchorSamplingWrapper(sampled())
