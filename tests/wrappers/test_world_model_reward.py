"""World-model rewards around a single environment."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from testing_env import GenericTestEnv, LengthWorldModel, play

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers import AnchorSamplingWrapper, Prediction, WorldModelRewardWrapper


def stack(
    fraction: float | None, world_model: Any = None, frames: int = 0, on_error: str = "raise", **env
) -> WorldModelRewardWrapper:
    inner: gym.Env = GenericTestEnv(**env)
    if fraction is not None:
        inner = AnchorSamplingWrapper(inner, fraction)
    world_model = world_model or LengthWorldModel()
    return WorldModelRewardWrapper(inner, world_model, frames=frames, on_error=on_error)


def test_an_unmeasured_episodes_reward_is_the_prediction_at_its_last_step() -> None:
    _, rewards, info = play(stack(0.0), seed=1)
    assert rewards == [0.0] * (len(rewards) - 1) + [0.5 * len(rewards)]
    assert info["predicted_reward"] == rewards[-1]
    assert (info["reward_source"], info["graded"]) == ("world_model", True)


def test_an_anchors_reward_is_measured_and_it_is_predicted_too() -> None:
    _, rewards, info = play(stack(1.0, reports=True), seed=1)
    assert rewards == [0.0] * (len(rewards) - 1) + [info["measured_reward"]]
    assert info["predicted_reward"] == 0.5 * len(rewards)
    assert (info["reward_source"], info["graded"]) == ("measured", True)


def test_without_anchor_sampling_nothing_is_executed() -> None:
    env = stack(None, reports=True)
    _, rewards, info = play(env, seed=1, options={"execute": True, "task": "iris"})
    assert env.unwrapped.resets[-1] == (1, {"execute": False, "task": "iris"})
    assert rewards[-1] == info["predicted_reward"]


def test_with_anchor_sampling_the_options_pass_unchanged() -> None:
    env = stack(1.0)
    env.reset(seed=1, options={"task": "iris"})
    assert env.unwrapped.resets[-1] == (1, {"execute": True, "task": "iris"})


def test_a_reward_that_needs_no_execution_goes_before_the_prediction() -> None:
    class Malformed(GenericTestEnv):
        def step(self, action: Any) -> Any:
            obs, _, _, _, _ = super().step(action)
            return obs, 0.25, True, False, {"measured_reward": 0.25, "graded": True}

    env = WorldModelRewardWrapper(Malformed(), LengthWorldModel())
    _, rewards, info = play(env, seed=1)
    assert (rewards, info["reward_source"]) == ([0.25], "measured")


def test_no_opinion_leaves_an_unmeasured_episode_ungraded() -> None:
    _, rewards, info = play(stack(0.0, lambda episodes: [None] * len(episodes)), seed=1)
    assert "predicted_reward" not in info
    assert (rewards[-1], info["graded"], info["reward_source"]) == (0.0, False, "none")


def test_no_opinion_does_not_touch_an_anchor() -> None:
    _, rewards, info = play(stack(1.0, lambda episodes: [None] * len(episodes)), seed=1)
    assert "predicted_reward" not in info
    assert rewards[-1] == info["measured_reward"]
    assert info["graded"] is True


def test_an_anchor_that_failed_stays_ungraded() -> None:
    _, rewards, info = play(stack(1.0, failing=(1,)), seed=1)
    assert (rewards[-1], info["graded"], info["reward_source"]) == (0.0, False, "none")
    assert "predicted_reward" in info


def broken(answer: Any) -> Any:
    def predict(episodes: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return predict


FAULTS = [
    (RuntimeError("out of memory"), "raised RuntimeError.'out of memory'"),
    ([], "must return 1 predictions, one an episode, got 0"),
    ([0.1, 0.2], "got 2"),
    ([float("nan")], "prediction 0 must be finite, got nan"),
    ([float("inf")], "must be finite, got inf"),
    (["0.5"], "must be a number or None, got '0.5'"),
    ([True], "must be a number or None, got True"),
    ([Prediction(0.5, feedback=7)], "must have a string as feedback, got 7"),
    (None, "raised TypeError"),
    ([10**400], "must be finite, got 1000"),
    ({0: 0.5}, "must come in the order of the episodes, got {0: 0.5}"),
    ({0.5}, "must come in the order of the episodes"),
]


@pytest.mark.parametrize(("answer", "message"), FAULTS)
def test_a_faulty_world_model_is_an_error_by_default(answer: Any, message: str) -> None:
    with pytest.raises(WorldModelError, match=message):
        play(stack(0.0, broken(answer)), seed=1)


@pytest.mark.parametrize("answer", [answer for answer, _ in FAULTS])
def test_a_faulty_world_model_can_leave_the_episode_ungraded(answer: Any) -> None:
    _, rewards, info = play(stack(0.0, broken(answer), on_error="ungraded"), seed=1)
    assert (rewards[-1], info["graded"]) == (0.0, False)


@pytest.mark.parametrize("answer", [1, 0.5, np.float32(0.5), np.int64(2), Prediction(0.5)])
def test_numbers_of_any_kind_become_plain_floats(answer: Any) -> None:
    _, rewards, info = play(stack(0.0, broken([answer])), seed=1)
    assert {type(reward) for reward in [*rewards, info["predicted_reward"]]} == {float}


def test_a_model_may_use_up_the_list_that_it_is_given() -> None:
    def greedy(episodes: Any) -> list[float]:
        return [0.25 * len(episodes.pop().actions) for _ in range(len(episodes))]

    assert play(stack(0.0, greedy, on_error="ungraded"), seed=1)[2]["graded"]


def test_arrays_are_answers_too() -> None:
    _, rewards, _ = play(stack(0.0, lambda episodes: np.full(len(episodes), 0.25)), seed=1)
    assert rewards[-1] == 0.25


def test_the_model_sees_task_actions_and_first_observation() -> None:
    model = LengthWorldModel()
    env = stack(1.0, model, observation="text", max_length=3)
    env.action_space.seed(3)
    obs, _ = env.reset(seed=0)
    actions, done = [], False
    while not done:
        actions.append(env.action_space.sample())
        _, _, done, _, _ = env.step(actions[-1])
    (episode,) = model.episodes
    assert (episode.task, episode.actions) == (obs["task"], tuple(actions))
    assert episode.initial_observation == obs
    assert episode.frames is None


def test_reused_action_buffers_do_not_change_recorded_actions() -> None:
    model = LengthWorldModel()
    env = stack(0.0, model, observation="dict", max_length=5)
    action, done = np.zeros(1, np.float32), False
    env.reset(seed=3)
    while not done:
        action += 0.125
        _, _, done, _, _ = env.step(action)
    (episode,) = model.episodes
    expected = 0.125 * np.arange(1, len(episode.actions) + 1)
    np.testing.assert_array_equal(np.concatenate(episode.actions), expected)


def multi_turn(fraction: float, model: Any) -> list[str]:
    env = stack(fraction, model, observation="text", max_length=5)
    env.reset(seed=2)
    seen, done = [], False
    while not done:
        obs, _, done, _, _ = env.step("x")
        seen.append(obs["feedback"])
    return seen


def test_imagined_feedback_stands_in_between_the_turns_of_unexecuted_episodes() -> None:
    model = LengthWorldModel()
    feedback = multi_turn(0.0, model)
    assert len(feedback) > 2
    assert feedback[:-1] == [f"imagined turn {turn}" for turn in range(1, len(feedback))]
    assert model.calls == [1] * len(feedback)


def test_imagined_feedback_is_cut_to_what_the_observation_space_holds() -> None:
    answer = Prediction(0.5, "x" * 500 + "the end")
    env = stack(0.0, lambda episodes: [answer], observation="text", max_length=5)
    env.reset(seed=2)
    seen = env.step("x")[0]
    assert env.observation_space.contains(seen)
    assert seen["feedback"].endswith("the end")


def test_executed_episodes_keep_the_environments_feedback() -> None:
    model = LengthWorldModel()
    feedback = multi_turn(1.0, model)
    assert set(feedback) == {"ran x"}
    assert model.calls == [1]


def test_a_model_without_feedback_leaves_the_observation_alone() -> None:
    assert set(multi_turn(0.0, lambda episodes: [0.5] * len(episodes))) == {"ran x"}


def test_frames_are_spread_over_the_episode_and_end_with_the_last() -> None:
    model = LengthWorldModel()
    env = stack(0.0, model, frames=4, max_length=60, render_mode="rgb_array")
    for seed in range(12):
        _, rewards, _ = play(env, seed=seed)
        steps = model.episodes[-1].frames[:, 0, 0, 0].astype(int)
        assert len(steps) == min(4, len(rewards) + 1)
        assert (steps[0], steps[-1]) == (0, len(rewards))
        assert np.all(np.diff(steps) > 0)
        if len(rewards) > 8:
            assert np.diff(steps).max() <= 0.75 * len(rewards)


def test_rendering_is_lazy() -> None:
    env = stack(0.0, frames=4, max_length=400, render_mode="rgb_array")
    _, rewards, _ = play(env, seed=2)
    assert len(rewards) > 100
    assert env.unwrapped.renders < 40
    unasked = stack(0.0, max_length=400, render_mode="rgb_array")
    play(unasked, seed=2)
    assert unasked.unwrapped.renders == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"frames": -1}, ValueError, "frames must be a non-negative integer, got -1"),
        ({"frames": 2}, ValueError, 'frames=2 needs .*render_mode="rgb_array", got None'),
        ({"on_error": "ignore"}, ValueError, "on_error must be one of"),
        ({"world_model": 7}, TypeError, "world_model must be .*, got 7"),
        ({"world_model": "testing_env"}, ValueError, "module:Name"),
        ({"world_model": "testing_env:Nothing"}, ValueError, "cannot be imported"),
        ({"world_model": "no_such_module:X"}, ValueError, "cannot be imported"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        WorldModelRewardWrapper(
            GenericTestEnv(), **{"world_model": LengthWorldModel(), **arguments}
        )


def test_arguments_need_a_class_to_go_to() -> None:
    with pytest.raises(TypeError, match="world_model_kwargs need a class"):
        WorldModelRewardWrapper(GenericTestEnv(), LengthWorldModel(), {"scale": 2.0})


@pytest.mark.parametrize("world_model", [LengthWorldModel, "testing_env:LengthWorldModel"])
def test_a_class_is_made_with_its_arguments(world_model: Any) -> None:
    env = WorldModelRewardWrapper(GenericTestEnv(), world_model, {"scale": 2.0})
    _, rewards, info = play(env, seed=1)
    assert info["predicted_reward"] == 2.0 * len(rewards)
