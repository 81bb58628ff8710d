"""The reward arms: each stack gives the rewards and infos that its name promises."""

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import VectorEnv
from testing_autoresearch import BAD_SYNTAX, FakeSandbox, fake_tasks, program

from wmrl_envs import info as keys
from wmrl_envs.benchmarks.autoresearch.arms import ARMS, stack
from wmrl_envs.wrappers.world_models import Episode, Prediction

GROUPS, SIZE = 10, 2
REWARDED = [name for name, arm in ARMS.items() if arm.world_model]
SAMPLED = [name for name, arm in ARMS.items() if arm.anchors]


class Quarter:
    """Predicts 0.25 for whatever it sees."""

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        return [Prediction(0.25) for _ in episodes]


@pytest.fixture
def sandbox() -> FakeSandbox:
    return FakeSandbox()


@pytest.fixture
def executing(sandbox: FakeSandbox) -> Iterator[VectorEnv]:
    envs = gym.make_vec(
        "wmrl_envs:WMRL/AutoResearch-v0",
        num_envs=GROUPS * SIZE,
        tasks=fake_tasks(),
        sandbox=sandbox,
    )
    yield envs
    envs.close()


def play(envs: VectorEnv) -> tuple[np.ndarray, dict[str, Any]]:
    """One turn of all groups; everyone submits what scores 0.6, which is a reward of 0.8."""
    envs.reset(seed=[seed for seed in range(GROUPS) for _ in range(SIZE)])
    actions = tuple(program("ok 0.6", i) for i in range(GROUPS * SIZE))
    _, rewards, terminated, _, infos = envs.step(actions)
    assert terminated.all()
    return rewards, infos


def read(infos: dict[str, Any], key: str, default: Any) -> tuple[np.ndarray, np.ndarray]:
    return keys.masked(infos, key, GROUPS * SIZE, default)


def test_real_execution_measures_everything(executing: VectorEnv, sandbox: FakeSandbox) -> None:
    rewards, infos = play(stack(executing, ARMS["real"], None, seed=0))
    assert rewards == pytest.approx(0.8)
    assert read(infos, keys.MEASURED_REWARD, 0.0)[1].all()
    assert len(sandbox.jobs) == GROUPS * SIZE


@pytest.mark.parametrize("name", SAMPLED)
def test_a_tenth_of_the_groups_is_executed(
    executing: VectorEnv, sandbox: FakeSandbox, name: str
) -> None:
    _, infos = play(stack(executing, ARMS[name], Quarter(), seed=0))
    anchor = read(infos, keys.ANCHOR, False)[0]
    assert anchor.sum() == SIZE and len(sandbox.jobs) == SIZE
    assert read(infos, keys.MEASURED_REWARD, 0.0)[1].tolist() == anchor.tolist()
    assert len(set(read(infos, keys.GROUP, -1)[0][anchor])) == 1


def test_the_fraction_of_anchors_can_be_another(executing: VectorEnv, sandbox: FakeSandbox) -> None:
    play(stack(executing, ARMS["wmrl"].with_anchors(0.5), Quarter(), seed=0))
    assert len(sandbox.jobs) == GROUPS * SIZE // 2


@pytest.mark.parametrize("name", ["real", "world-model"])
def test_arms_without_anchors_get_none(name: str) -> None:
    assert ARMS[name].with_anchors(0.5) == ARMS[name]


def test_the_anchor_groups_alone_leave_the_rest_ungraded(executing: VectorEnv) -> None:
    rewards, infos = play(stack(executing, ARMS["anchors"], None, seed=0))
    anchor, graded = read(infos, keys.ANCHOR, False)[0], read(infos, keys.GRADED, True)[0]
    assert graded.tolist() == anchor.tolist()
    assert rewards[anchor] == pytest.approx(0.8) and not rewards[~anchor].any()


def test_the_pure_world_model_executes_nothing(executing: VectorEnv, sandbox: FakeSandbox) -> None:
    rewards, infos = play(stack(executing, ARMS["world-model"], Quarter(), seed=0))
    assert rewards == pytest.approx(0.25) and sandbox.jobs == []
    assert read(infos, keys.GRADED, False)[0].all()
    assert not read(infos, keys.MEASURED_REWARD, 0.0)[1].any()


def test_the_mixture_is_what_was_measured_and_else_what_was_predicted(
    executing: VectorEnv,
) -> None:
    rewards, infos = play(stack(executing, ARMS["mixture"], Quarter(), seed=0))
    anchor = read(infos, keys.ANCHOR, False)[0]
    assert rewards[anchor] == pytest.approx(0.8) and rewards[~anchor] == pytest.approx(0.25)
    assert not read(infos, keys.CORRECTED_REWARD, 0.0)[1].any()


@pytest.mark.parametrize("name", REWARDED)
def test_a_world_model_predicts_every_episode(executing: VectorEnv, name: str) -> None:
    _, infos = play(stack(executing, ARMS[name], Quarter(), seed=0))
    predicted, present = read(infos, keys.PREDICTED_REWARD, 0.0)
    assert present.all() and predicted == pytest.approx(0.25)


CORRECTED = [name for name, arm in ARMS.items() if arm.correction is not None]


@pytest.mark.parametrize("name", CORRECTED)
def test_a_correction_writes_a_corrected_reward_and_a_weight(
    executing: VectorEnv, name: str
) -> None:
    rewards, infos = play(stack(executing, ARMS[name], Quarter(), seed=0))
    weights, weighed = read(infos, keys.REWARD_WEIGHT, 0.0)
    assert read(infos, keys.CORRECTED_REWARD, 0.0)[1].all() and weighed.all()
    assert np.isfinite(rewards).all() and (weights >= 0).all()


@pytest.mark.parametrize("name", [n for n in CORRECTED if n != "denoise"])
def test_debiasing_brings_predictions_to_what_anchors_measured(
    executing: VectorEnv, name: str
) -> None:
    envs = stack(executing, ARMS[name].with_anchors(0.5), Quarter(), seed=0)
    for _ in range(20):
        _, infos = play(envs)
    assert read(infos, keys.CORRECTED_REWARD, 0.0)[0] == pytest.approx(0.8, abs=0.05)


def test_denoising_alone_leaves_predictions_as_they_are(executing: VectorEnv) -> None:
    envs = stack(executing, ARMS["denoise"].with_anchors(0.5), Quarter(), seed=0)
    for _ in range(5):
        _, infos = play(envs)
    assert read(infos, keys.CORRECTED_REWARD, 0.0)[0] == pytest.approx(0.25)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_syntax_error_in_an_anchor_group_is_measured_without_an_execution(
    executing: VectorEnv, sandbox: FakeSandbox, name: str
) -> None:
    envs = stack(executing, ARMS[name], Quarter(), seed=0)
    envs.reset(seed=[seed for seed in range(GROUPS) for _ in range(SIZE)])
    infos = envs.step((BAD_SYNTAX,) * GROUPS * SIZE)[-1]
    measured, present = read(infos, keys.MEASURED_REWARD, -1.0)
    assert present.sum() == SIZE and not measured[present].any() and sandbox.jobs == []


@pytest.mark.parametrize("name", REWARDED)
def test_an_arm_with_a_world_model_needs_one(executing: VectorEnv, name: str) -> None:
    with pytest.raises(ValueError, match=f"arm '{name}' needs a world_model, got None"):
        stack(executing, ARMS[name], None, seed=0)


def test_the_seed_chooses_the_anchors() -> None:
    drawn = set()
    for seed in range(4):
        envs = gym.make_vec(
            "wmrl_envs:WMRL/AutoResearch-v0",
            num_envs=GROUPS,
            tasks=fake_tasks(),
            sandbox=FakeSandbox(),
        )
        infos = stack(envs, ARMS["anchors"], None, seed).reset(seed=list(range(GROUPS)))[1]
        drawn.add(tuple(infos[keys.ANCHOR]))
        envs.close()
    assert len(drawn) > 1
