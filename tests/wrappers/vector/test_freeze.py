"""Finished sub-environments stand still, whatever autoreset mode lies beneath."""

import itertools
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from testing_env import OBSERVATIONS, GenericTestEnv, LengthWorldModel

from wmrl_envs.wrappers.vector import (
    AnchorSamplingWrapper,
    FreezeWrapper,
    WorldModelRewardWrapper,
)

KINDS = ["sync", "async"]


def frozen(kind: str, mode: AutoresetMode, size: int = 4, **arguments: Any) -> FreezeWrapper:
    makers = [lambda: GenericTestEnv(**arguments)] * size
    if kind == "sync":
        return FreezeWrapper(SyncVectorEnv(makers, autoreset_mode=mode))
    shared = arguments.get("observation") != "text"
    return FreezeWrapper(AsyncVectorEnv(makers, shared_memory=shared, autoreset_mode=mode))


def alone(seed: int, observation: str, actions: list[Any]) -> list[Any]:
    env = GenericTestEnv(observation)
    env.reset(seed=seed)
    results, done = [], False
    for action in actions:
        if not done:
            results.append(env.step(action))
            done = results[-1][2]
    return results


def at(observations: Any, index: int) -> Any:
    if isinstance(observations, dict):
        return {key: at(value, index) for key, value in observations.items()}
    return observations[index]


REFUSED = ("async", AutoresetMode.NEXT_STEP, "text")
SETTINGS = [s for s in itertools.product(KINDS, AutoresetMode, OBSERVATIONS) if s != REFUSED]


@pytest.mark.parametrize(("kind", "mode", "observation"), SETTINGS)
def test_every_episode_is_the_one_played_alone_and_then_stands_still(
    kind: str, mode: AutoresetMode, observation: str
) -> None:
    env = frozen(kind, mode, observation=observation)
    try:
        env.action_space.seed(0)
        for seeds in ([3, 3, 4, 5], [6, 7, 7, 8]):
            env.reset(seed=seeds)
            actions = [env.action_space.sample() for _ in range(7)]
            steps = [env.step(action) for action in actions]
            for i, seed in enumerate(seeds):
                expected = alone(seed, observation, [at(a, i) for a in actions])
                check_sub_environment(steps, i, expected)
        assert all(step[4] == {} for step in steps[4:])
    finally:
        env.close()


def check_sub_environment(steps: list[Any], index: int, expected: list[Any]) -> None:
    for t, (obs, rewards, terminations, truncations, _) in enumerate(steps):
        alive = t < len(expected)
        reference = expected[min(t, len(expected) - 1)]
        np.testing.assert_equal(at(obs, index), reference[0])
        assert rewards[index] == (reference[1] if alive else 0.0)
        assert terminations[index] == reference[2]
        assert truncations[index] == reference[3]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_last_infos_stay_at_the_top_level_and_come_once(mode: AutoresetMode) -> None:
    env = frozen("sync", mode, reports=True)
    env.reset(seed=[0, 1, 2, 3])
    seen = np.zeros(4, int)
    for _ in range(6):
        infos = env.step(np.zeros(4, int))[4]
        assert not {"final_obs", "final_info"} & infos.keys()
        seen += infos.get("_measured_reward", np.zeros(4, bool))
    assert seen.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_masked_reset_wakes_only_those_it_names(kind: str, mode: AutoresetMode) -> None:
    env = frozen(kind, mode)
    try:
        env.reset(seed=[0, 1, 2, 3])
        for _ in range(5):
            last = env.step(np.zeros(4, int))[0]
        mask = np.array([True, False, False, True])
        options = {"reset_mask": mask}
        obs, _ = env.reset(seed=[8, None, None, 9], options=options)
        assert options["reset_mask"] is mask
        assert env.finished.tolist() == [False, True, True, False]
        np.testing.assert_array_equal(obs[1:3], last[1:3])
        expected = GenericTestEnv()
        np.testing.assert_array_equal(obs[0], expected.reset(seed=8)[0])
        stepped = env.step(np.zeros(4, int))
        np.testing.assert_array_equal(stepped[0][0], expected.step(0)[0])
        assert stepped[1][1] == stepped[1][2] == 0.0
    finally:
        env.close()


def test_nothing_is_stepped_once_all_are_finished() -> None:
    env = frozen("sync", AutoresetMode.NEXT_STEP)
    env.reset(seed=0)
    for _ in range(5):
        env.step(np.zeros(4, int))
    resets = [len(inner.resets) for inner in env.unwrapped.envs]
    for _ in range(5):
        assert env.step(np.zeros(4, int))[2].all()
    assert [len(inner.resets) for inner in env.unwrapped.envs] == resets


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_reward_path_sees_every_group_whole(mode: AutoresetMode) -> None:
    env = AnchorSamplingWrapper(frozen("sync", mode, reports=True), fraction=0.5)
    env = WorldModelRewardWrapper(env, LengthWorldModel())
    assert env.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    for round_ in range(4):
        seeds = [2 * round_] * 2 + [2 * round_ + 1] * 2
        groups = env.reset(seed=seeds)[1]["group"]
        total, graded = np.zeros(4), np.zeros(4, int)
        for _ in range(6):
            _, rewards, _, _, infos = env.step(np.zeros(4, int))
            total += rewards
            graded += infos.get("_graded", np.zeros(4, bool))
        assert groups.tolist() == seeds
        assert graded.tolist() == [1, 1, 1, 1]
        np.testing.assert_allclose(total[::2], total[1::2])


def test_a_pending_autoreset_that_gymnasium_would_not_cancel_is_refused() -> None:
    inner = AsyncVectorEnv([GenericTestEnv] * 2, shared_memory=False)
    try:
        with pytest.raises(ValueError, match=r"shared_memory=False.*SAME_STEP"):
            FreezeWrapper(inner)
    finally:
        inner.close()


def test_the_mode_below_keeps_its_metadata() -> None:
    inner = SyncVectorEnv([GenericTestEnv] * 2)
    FreezeWrapper(inner)
    assert inner.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
