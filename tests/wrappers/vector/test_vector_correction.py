"""The vector correction learns from complete groups, before the others of a step are corrected."""

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from testing_env import GenericTestEnv, LengthWorldModel

from wmrl_envs.wrappers.estimators import Correction
from wmrl_envs.wrappers.vector import (
    AnchorSamplingWrapper,
    CorrectionWrapper,
    FreezeWrapper,
    WorldModelRewardWrapper,
)


def stack(size: int, max_length: int = 4, scale: float = 2.0, **arguments: Any) -> Any:
    env: Any = FreezeWrapper(SyncVectorEnv([lambda: GenericTestEnv(max_length=max_length)] * size))
    env = AnchorSamplingWrapper(env, fraction=0.5, seed=3)
    return CorrectionWrapper(WorldModelRewardWrapper(env, LengthWorldModel(scale)), **arguments)


def play_round(env: Any, seeds: list[int]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """One reset and as many steps as it takes: rewards (N,), last infos by key (N,)."""
    _, first = env.reset(seed=seeds)
    actions = np.arange(len(seeds)) % 2
    total, done = np.zeros(len(seeds)), np.zeros(len(seeds), bool)
    last: dict[str, np.ndarray] = {"anchor": first["anchor"]}
    while not done.all():
        _, rewards, terminations, truncations, infos = env.step(actions)
        total, done = total + rewards, terminations | truncations
        for key in ("predicted_reward", "corrected_reward", "measured_reward", "reward_weight"):
            mask = infos.get(f"_{key}", np.zeros(len(seeds), bool))
            values = infos.get(key, np.zeros(len(seeds)))
            last.setdefault(key, np.full(len(seeds), np.nan))[mask] = values[mask]
    return total, last


def seeds_of(anchor: bool, number: int) -> list[int]:
    env = AnchorSamplingWrapper(SyncVectorEnv([GenericTestEnv] * 40), fraction=0.5, seed=3)
    anchors = env.reset(seed=0)[1]["anchor"]
    return np.flatnonzero(anchors == anchor)[:number].tolist()


def test_anchors_enter_the_map_before_others_of_the_same_step_are_corrected() -> None:
    env = stack(4, max_length=1, method="paper")
    (anchor,), (other,) = seeds_of(True, 1), seeds_of(False, 1)
    rewards, last = play_round(env, [other, other, anchor, anchor])
    assert last["anchor"].tolist() == [False, False, True, True]
    assert np.all(last["predicted_reward"] == 2.0)
    np.testing.assert_allclose(rewards[:2], last["measured_reward"][2:].mean(), rtol=0.01)


def test_a_group_that_ends_apart_is_learned_from_at_its_last_end() -> None:
    env = stack(4)
    (anchor,) = seeds_of(True, 1)
    env.reset(seed=[anchor] * 4, options={"group": anchor})
    done = np.zeros(4, bool)
    while not done.all():
        assert env.diagnostics()["effective_pairs"] == 0
        _, _, terminations, truncations, _ = env.step(np.zeros(4, int))
        done = terminations | truncations
    assert env.diagnostics()["effective_pairs"] == pytest.approx(4, abs=0.02)


def test_a_groups_members_meet_one_map_even_when_they_end_apart() -> None:
    env = stack(6, max_length=8, method="paper")
    anchors, (other,) = seeds_of(True, 2), seeds_of(False, 1)
    seeds = [anchors[0]] * 2 + [anchors[1]] * 2 + [50, 51]
    env.reset(seed=seeds, options={"group": [anchors[0]] * 2 + [anchors[1]] * 2 + [other] * 2})
    used, done = {}, np.zeros(6, bool)
    while not done.all():
        _, _, terminations, truncations, infos = env.step(np.zeros(6, int))
        done = terminations | truncations
        for i in np.flatnonzero(infos.get("_corrected_reward", np.zeros(6, bool))):
            used[i] = infos["predicted_reward"][i], infos["corrected_reward"][i]
    (x4, y4), (x5, y5) = used[4], used[5]
    assert x4 != x5
    assert (x4 < x5) == (y4 < y5)


def test_a_lone_sub_environments_group_waits_for_the_next_one() -> None:
    env = stack(2)
    first, second = seeds_of(True, 2)
    play_round(env, [first, second])
    assert env.diagnostics()["effective_pairs"] == 0
    env.reset(seed=[first, seeds_of(False, 1)[0]])
    assert env.diagnostics()["effective_pairs"] == pytest.approx(1, abs=0.01)


def test_rewards_lose_the_world_models_bias_over_rounds_of_groups() -> None:
    env = stack(16, method="rectified", scale=2.0)
    gaps = []
    for round_ in range(60):
        seeds = [100 + 4 * round_ + i // 4 for i in range(16)]
        rewards, last = play_round(env, seeds)
        if round_ >= 20:
            gaps.extend((rewards - last["predicted_reward"])[~last["anchor"]])
    assert np.mean(gaps) == pytest.approx((0.75 - 2.0) * 2.5, abs=0.4)
    assert env.diagnostics()["anchor_share"] == pytest.approx(0.5, abs=0.02)


def test_anchors_weigh_more_under_the_papers_method() -> None:
    env = stack(8, method="paper")
    for round_ in range(10):
        _, last = play_round(env, [100 + 4 * round_ + i // 2 for i in range(8)])
    weights = last["reward_weight"]
    assert np.all(weights[~last["anchor"]] == 1.0)
    assert np.all(weights[last["anchor"]] > 1.0)


def test_a_saved_state_goes_on_bit_for_bit() -> None:
    original, restored = stack(6), stack(6)
    for round_ in range(5):
        play_round(original, [100 + 3 * round_ + i // 2 for i in range(6)])
    restored.load_state_dict(original.state_dict())
    for round_ in range(5, 10):
        seeds = [100 + 3 * round_ + i // 2 for i in range(6)]
        np.testing.assert_array_equal(
            play_round(original, seeds)[0], play_round(restored, seeds)[0]
        )
    for key, value in original.state_dict().items():
        np.testing.assert_array_equal(value, restored.state_dict()[key])


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_learning_goes_on_over_autoresets(mode: AutoresetMode) -> None:
    env: Any = SyncVectorEnv([GenericTestEnv] * 4, autoreset_mode=mode)
    env = WorldModelRewardWrapper(AnchorSamplingWrapper(env, 1.0), LengthWorldModel())
    env = CorrectionWrapper(env)
    env.reset(seed=[1, 1, 2, 2])
    for _ in range(100):
        env.step(np.zeros(4, int))
    assert env.diagnostics()["effective_pairs"] > 80


def test_a_group_left_behind_by_a_reset_is_learned_from() -> None:
    env = stack(4)
    (anchor,) = seeds_of(True, 1)
    env.reset(seed=list(range(60, 64)), options={"group": anchor})
    finished = 0
    while finished == 0:
        _, _, terminations, _, _ = env.step(np.zeros(4, int))
        finished = int(terminations.sum())
    assert finished < 4
    env.reset(seed=70)
    assert env.diagnostics()["effective_pairs"] == pytest.approx(finished, abs=0.02)


def test_an_estimator_is_shared_with_what_else_uses_it() -> None:
    shared = Correction("paper")
    shared.seed_pairs(np.full(100, 2.0), np.full(100, 0.5))
    rewards, _ = play_round(stack(2, max_length=1, estimator=shared), seeds_of(False, 2))
    np.testing.assert_allclose(rewards, 0.5, atol=0.01)
