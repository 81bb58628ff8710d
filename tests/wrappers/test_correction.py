"""The correction around a single environment."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from testing_env import GenericTestEnv, LengthWorldModel, play

from wmrl_envs.wrappers import AnchorSamplingWrapper, CorrectionWrapper, WorldModelRewardWrapper
from wmrl_envs.wrappers.estimators import Correction


def stack(fraction: float = 0.5, scale: float = 2.0, env: Any = None, **arguments: Any) -> Any:
    inner: gym.Env = env or GenericTestEnv()
    inner = AnchorSamplingWrapper(inner, fraction)
    inner = WorldModelRewardWrapper(inner, LengthWorldModel(scale))
    return CorrectionWrapper(inner, **arguments)


def trained(episodes: int = 300, **arguments: Any) -> Any:
    env = stack(**arguments)
    for seed in range(episodes):
        play(env, seed=seed)
    return env


@pytest.mark.parametrize("method", ["rectified", "paper"])
def test_the_reward_of_unmeasured_episodes_loses_the_world_models_bias(method: str) -> None:
    env = trained(method=method)
    gaps = []
    for seed in range(1000, 1200):
        _, rewards, info = play(env, seed=seed)
        if not info["anchor"]:
            true = sum(play(GenericTestEnv(), seed=seed)[1])
            gaps.append((info["predicted_reward"] - true, rewards[-1] - true))
            assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    bias_before, bias_after = np.mean(gaps, axis=0)
    assert bias_before > 1.5
    assert abs(bias_after) < 0.2


def test_the_last_info_carries_corrected_reward_and_weight_as_plain_floats() -> None:
    env = trained(30, method="paper", fraction=1.0)
    _, rewards, info = play(env, seed=50)
    assert type(info["corrected_reward"]) is type(info["reward_weight"]) is float
    assert type(rewards[-1]) is float
    assert rewards[-1] == info["measured_reward"]


def test_a_groups_pairs_are_learned_from_when_another_group_starts() -> None:
    env = stack(1.0)
    for _ in range(3):
        play(env, seed=1)
    assert env.diagnostics()["effective_pairs"] == 0
    env.reset(seed=2)
    assert env.diagnostics()["effective_pairs"] == pytest.approx(3, abs=0.01)
    assert env.diagnostics()["residual_variance"] >= 0


def test_all_episodes_of_a_group_meet_one_map() -> None:
    env = trained(20, fraction=1.0)
    first = play(env, seed=500)[2]
    again = play(env, seed=500)[2]
    assert again["corrected_reward"] == first["corrected_reward"]


def test_groups_that_are_no_anchors_teach_nothing() -> None:
    env = trained(50, fraction=0.0)
    assert env.diagnostics()["effective_pairs"] == 0
    _, rewards, info = play(env, seed=99)
    assert rewards[-1] == info["corrected_reward"] == info["predicted_reward"]


def test_without_a_world_model_everything_passes_unchanged() -> None:
    plain = play(AnchorSamplingWrapper(GenericTestEnv(), 1.0), seed=3)
    corrected = play(CorrectionWrapper(AnchorSamplingWrapper(GenericTestEnv(), 1.0)), seed=3)
    assert corrected == plain
    assert play(CorrectionWrapper(GenericTestEnv()), seed=3) == play(GenericTestEnv(), seed=3)


def test_an_ungraded_anchor_stays_ungraded_and_teaches_nothing() -> None:
    env = stack(1.0, env=GenericTestEnv(failing=(4,)))
    _, rewards, info = play(env, seed=4)
    assert (rewards[-1], info["graded"], info["reward_weight"]) == (0.0, False, 1.0)
    env.reset(seed=5)
    assert env.diagnostics()["effective_pairs"] == 0


def test_the_anchor_share_comes_from_the_sampling_beneath() -> None:
    assert stack(0.5).diagnostics()["rectify"] == 2.0
    assert stack(0.5, estimator_kwargs={"fraction": 1.0}).diagnostics()["rectify"] == 1.0


def test_wrappers_can_share_an_estimator() -> None:
    shared = Correction("paper")
    teacher, pupil = stack(1.0, estimator=shared), stack(0.0, estimator=shared)
    for seed in range(60):
        play(teacher, seed=seed)
    _, rewards, info = play(pupil, seed=7)
    assert rewards[-1] < 0.6 * info["predicted_reward"]


def test_a_saved_state_goes_on_bit_for_bit_with_pairs_still_held_back() -> None:
    original, restored = trained(41, fraction=1.0), stack(1.0)
    restored.load_state_dict(original.state_dict())
    assert original.state_dict()["pending/measured"].size == 1
    for seed in range(100, 130):
        ours, theirs = play(original, seed=seed), play(restored, seed=seed)
        assert ours == theirs
    for key, value in original.state_dict().items():
        np.testing.assert_array_equal(value, restored.state_dict()[key])


def test_a_state_without_held_back_pairs_is_refused() -> None:
    state = trained(3).estimator.state_dict()
    with pytest.raises(ValueError, match="pending/group"):
        stack().load_state_dict(state)


def test_an_estimator_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="estimator must be a Correction or None, got 3"):
        CorrectionWrapper(GenericTestEnv(), estimator=3)


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="got 'magic'"):
        stack(method="magic")


def test_the_wrapper_belongs_outermost() -> None:
    with pytest.raises(ValueError, match="belongs beneath CorrectionWrapper"):
        WorldModelRewardWrapper(CorrectionWrapper(GenericTestEnv()), LengthWorldModel())
