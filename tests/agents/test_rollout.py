"""Rollouts: groups, turns, unequal lengths, and what is read from the infos."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wmrl_envs.agents import LanguageModelPolicy, TokenBatch, collect
from wmrl_envs.agents.scalars import action_key

MakePolicy = Callable[..., LanguageModelPolicy]


class Scripted:
    """Acts by a function of the observation; its tokens mean nothing."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.device = torch.device("cpu")

    def act(
        self, observations: Sequence[Any], *, generator: Any = None, deterministic: bool = False
    ) -> TokenBatch:
        actions = [self.function(observation) for observation in observations]
        n = len(actions)
        return TokenBatch(actions, [(1,)] * n, [(2, 3)] * n, [(-1.0, -1.0)] * n)


def test_rewards_are_summed_and_groups_are_the_reset_seeds(letter_env: Any) -> None:
    policy = Scripted(lambda observation: observation["task"][0] * 4)
    rollout = collect(policy, letter_env(4), [5, 5, 6, 6])
    assert rollout.rewards.tolist() == [0.5] * 4
    assert rollout.groups.tolist() == rollout.seeds.tolist() == [5, 5, 6, 6]
    assert rollout.tasks == ["b>", "b>", "c>", "c>"]
    assert rollout.graded.all() and rollout.weights.tolist() == [1.0] * 4
    assert np.isnan(rollout.measured).all() and rollout.statuses == [""] * 4


def test_each_turn_is_a_sample_and_finished_rows_rest(letter_env: Any) -> None:
    envs = letter_env(3, turns=lambda seed: seed)
    answers: list[str] = []

    def answer(observation: Any) -> str:
        answers.append(f"{observation['task'][0]}{len(answers)}")
        return answers[-1]

    rollout = collect(Scripted(answer), envs, [1, 3, 2])
    assert rollout.turns.tolist() == [1, 3, 2]
    assert rollout.episodes.tolist() == [0, 1, 2, 1, 2, 1]
    assert rollout.actions(1) == ["d1", "d3", "d5"]
    assert len(rollout.samples) == 6
    assert envs.calls_after_end == 3


def test_the_second_turn_sees_the_feedback(letter_env: Any) -> None:
    seen: list[str] = []

    def answer(observation: Any) -> str:
        seen.append(observation["feedback"])
        return "ab"

    collect(Scripted(answer), letter_env(1, turns=lambda seed: 2), [0])
    assert seen == ["", "ab"]


def test_infos_are_those_of_the_step_at_which_each_row_finished(letter_env: Any) -> None:
    def final_info(seed: int, row: int) -> dict[str, Any]:
        info: dict[str, Any] = {"graded": row != 1, "grade_status": f"s{row}"}
        if row == 0:
            info["measured_reward"] = 0.25
        if row == 2:
            info |= {"predicted_reward": 0.5, "corrected_reward": 0.75, "reward_weight": 2.0}
        return info

    envs = letter_env(3, turns=lambda seed: 1 + seed, final_info=final_info)
    rollout = collect(Scripted(lambda observation: "x"), envs, [0, 1, 2])
    assert rollout.graded.tolist() == [True, False, True]
    assert rollout.weights.tolist() == [1.0, 1.0, 2.0]
    assert rollout.statuses == ["s0", "s1", "s2"]
    np.testing.assert_array_equal(rollout.measured, [0.25, np.nan, np.nan])
    np.testing.assert_array_equal(rollout.predicted, [np.nan, np.nan, 0.5])
    np.testing.assert_array_equal(rollout.corrected, [np.nan, np.nan, 0.75])


class Countdown(gym.Env):
    """Ends after as many steps as its seed says; the action is added to the reward."""

    observation_space = gym.spaces.Box(-1, 9, (2,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = 1 if seed is None else seed
        return np.full(2, self.left, np.float32), {"group": 7}

    def step(self, action: np.ndarray) -> tuple[Any, ...]:
        self.left -= 1
        info = {"graded": False, "reward_weight": 3.0} if self.left == 0 else {}
        reward = float(action.sum())
        return np.full(2, self.left, np.float32), reward, self.left == 0, False, info


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_an_autoreset_neither_adds_reward_nor_hides_the_last_infos(mode: AutoresetMode) -> None:
    envs = SyncVectorEnv([Countdown] * 3, autoreset_mode=mode)
    policy = Scripted(lambda observation: np.array([0.25, observation[0] / 10], np.float32))
    rollout = collect(policy, envs, [1, 2, 3])
    np.testing.assert_allclose(rollout.rewards, [0.35, 0.8, 1.35], rtol=1e-6)
    assert rollout.turns.tolist() == [1, 2, 3]
    assert not rollout.graded.any()
    assert rollout.weights.tolist() == [3.0] * 3


def test_a_group_reported_by_the_environment_comes_before_the_seed() -> None:
    envs = SyncVectorEnv([Countdown] * 2)
    policy = Scripted(lambda observation: np.zeros(2, np.float32))
    assert collect(policy, envs, [1, 2]).groups.tolist() == [7, 7]


def test_discrete_actions_of_a_classic_environment() -> None:
    envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 4)
    rollout = collect(Scripted(lambda observation: int(observation[2] > 0)), envs, [1, 1, 2, 2])
    assert rollout.rewards.tolist() == rollout.turns.tolist()
    assert rollout.rewards[0] == rollout.rewards[1]


def test_a_wrong_number_of_seeds_is_named(make_policy: MakePolicy, letter_env: Any) -> None:
    with pytest.raises(ValueError, match=r"one seed a sub-environment \(4\), got 3"):
        collect(make_policy(), letter_env(4), [1, 2, 3])


def test_equal_actions_have_equal_keys() -> None:
    assert action_key("ab") == action_key("ab") != action_key("ba")
    assert action_key(np.array([1, 2])) == action_key(np.array([1, 2]))
    assert action_key(3) == action_key(np.int64(3))
