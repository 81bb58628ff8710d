"""A vector wrapper around a vector environment equals the vector environment of single wrappers."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from testing_env import OBSERVATIONS, GenericTestEnv, LengthWorldModel

from wmrl_envs import wrappers as single
from wmrl_envs.wrappers import vector
from wmrl_envs.wrappers.estimators import Correction
from wmrl_envs.wrappers.world_models import Prediction

MODES = list(AutoresetMode)
SIZES = [1, 2, 5]
Wrap = Callable[[Any], Any]


def anchors(kind: Any) -> Wrap:
    return lambda env: kind.AnchorSamplingWrapper(env, fraction=0.5, seed=3)


def predicted(kind: Any) -> Wrap:
    return lambda env: kind.WorldModelRewardWrapper(env, LengthWorldModel())


def predicted_anchors(kind: Any) -> Wrap:
    return lambda env: predicted(kind)(anchors(kind)(env))


def corrected(kind: Any, estimator: Callable[[], Correction]) -> Wrap:
    return lambda env: kind.CorrectionWrapper(predicted_anchors(kind)(env), estimator=estimator())


def envs(wrap: Wrap, size: int, mode: AutoresetMode, **arguments: Any) -> SyncVectorEnv:
    makers = [lambda: wrap(GenericTestEnv(**arguments)) for _ in range(size)]
    return SyncVectorEnv(makers, autoreset_mode=mode)


def same(ours: Any, theirs: Any, where: str) -> None:
    assert type(ours) is type(theirs), where
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), (where, ours.keys() ^ theirs.keys())
        for key in ours:
            same(ours[key], theirs[key], f"{where}[{key!r}]")
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        if ours.dtype == object:
            same(ours.tolist(), theirs.tolist(), where)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=where)
    elif isinstance(ours, list | tuple):
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            same(one, other, f"{where}[{i}]")
    else:
        assert ours == theirs, where


def assert_twins(vectorised: Any, separate: Any, steps: int = 60) -> None:
    """Plays both side by side: seeded resets, autoresets or masked resets, whole resets."""
    twins = (vectorised, separate)
    vectorised.action_space.seed(0)
    mode = vectorised.metadata["autoreset_mode"]
    size = vectorised.num_envs
    same(*(env.reset(seed=[7] * (size // 2) + list(range(20, 20 + size - size // 2)))
           for env in twins), "reset")  # fmt: skip
    for step in range(steps):
        actions = vectorised.action_space.sample()
        results = [env.step(actions) for env in twins]
        same(*results, f"step {step}")
        done = results[0][2] | results[0][3]
        if mode == AutoresetMode.DISABLED and done.any():
            options = {"reset_mask": done}
            seed = None if step % 3 else list(range(step, step + size))
            same(*(env.reset(seed=seed, options=dict(options)) for env in twins), f"reset {step}")
        elif step == steps // 2:
            same(*(env.reset(seed=step) for env in twins), "second reset")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("layer", [anchors, predicted, predicted_anchors])
@pytest.mark.parametrize("arguments", [{}, {"reports": True, "failing": (7, 21)}])
def test_anchor_sampling_and_world_model_equal_their_twins(
    layer: Callable[[Any], Wrap], size: int, mode: AutoresetMode, arguments: dict
) -> None:
    plain = envs(lambda env: env, size, mode, **arguments)
    assert_twins(layer(vector)(plain), envs(layer(single), size, mode, **arguments))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_twins_agree_on_every_kind_of_observation(observation: str, mode: AutoresetMode) -> None:
    plain = envs(lambda env: env, 3, mode, observation=observation)
    separate = envs(predicted_anchors(single), 3, mode, observation=observation)
    assert_twins(predicted_anchors(vector)(plain), separate)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["rectified", "paper", "reference"])
def test_a_learning_correction_equals_its_twin_of_one(method: str, mode: AutoresetMode) -> None:
    def make() -> Correction:
        return Correction(method)

    plain = envs(lambda env: env, 1, mode)
    separate = envs(corrected(single, make), 1, mode)
    assert_twins(corrected(vector, make)(plain), separate, steps=200)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", SIZES)
def test_a_frozen_correction_equals_its_twins(size: int, mode: AutoresetMode) -> None:
    shared = Correction(fraction=0.5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        measured = rng.random(8)
        shared.update([(measured**2 + 0.1 * rng.normal(size=8), measured)])
    shared.frozen = True
    plain = envs(lambda env: env, size, mode, failing=(7,))
    separate = envs(corrected(single, lambda: shared), size, mode, failing=(7,))
    assert_twins(corrected(vector, lambda: shared)(plain), separate)


@pytest.mark.parametrize(
    ("mode", "observation"),
    [
        (AutoresetMode.NEXT_STEP, "box"),
        (AutoresetMode.SAME_STEP, "text"),
        (AutoresetMode.DISABLED, "text"),
    ],
)
def test_subprocesses_equal_the_same_process(mode: AutoresetMode, observation: str) -> None:
    makers = [lambda: GenericTestEnv(observation)] * 2
    shared = observation != "text"
    async_env = AsyncVectorEnv(makers, shared_memory=shared, autoreset_mode=mode)
    try:
        sync_env = SyncVectorEnv(makers, autoreset_mode=mode)
        assert_twins(predicted_anchors(vector)(async_env), predicted_anchors(vector)(sync_env), 30)
    finally:
        async_env.close()


@pytest.mark.parametrize("mode", MODES)
def test_vector_layers_go_around_single_ones(mode: AutoresetMode) -> None:
    mixed = predicted(vector)(envs(anchors(single), 3, mode))
    assert_twins(mixed, envs(predicted_anchors(single), 3, mode))


def test_one_batched_prediction_a_step() -> None:
    model = LengthWorldModel()
    plain = envs(lambda env: env, 6, AutoresetMode.DISABLED, max_length=1)
    env = vector.WorldModelRewardWrapper(plain, model)
    env.reset(seed=[1] * 6)
    env.step(np.zeros(6, int))
    assert model.calls == [6]


def test_imagined_feedback_stays_inside_the_observation_space() -> None:
    answer = Prediction(0.5, "x" * 500 + "the end")
    plain = envs(lambda e: e, 2, AutoresetMode.DISABLED, observation="text", max_length=5)
    env = vector.WorldModelRewardWrapper(plain, lambda episodes: [answer] * len(episodes))
    env.reset(seed=[2, 2])
    seen = env.step(("x", "x"))[0]
    assert env.observation_space.contains(seen)
    assert all(text.endswith("the end") for text in seen["feedback"])


def test_frames_equal_those_of_single_wrappers() -> None:
    models = LengthWorldModel(), LengthWorldModel()
    for env in (
        vector.WorldModelRewardWrapper(
            SyncVectorEnv([lambda: GenericTestEnv(max_length=40, render_mode="rgb_array")] * 2),
            models[0],
            frames=3,
        ),
        SyncVectorEnv(
            [
                lambda: single.WorldModelRewardWrapper(
                    GenericTestEnv(max_length=40, render_mode="rgb_array"), models[1], frames=3
                )
            ]
            * 2
        ),
    ):
        env.reset(seed=[1, 2])
        for _ in range(150):
            env.step(np.zeros(2, int))
    assert len(models[0].episodes) == len(models[1].episodes) > 4
    for ours, theirs in zip(models[0].episodes, models[1].episodes, strict=True):
        np.testing.assert_array_equal(ours.frames, theirs.frames)


def test_frames_are_refused_where_the_last_one_is_lost() -> None:
    plain = envs(lambda env: env, 2, AutoresetMode.SAME_STEP, render_mode="rgb_array")
    with pytest.raises(ValueError, match="other than SAME_STEP"):
        vector.WorldModelRewardWrapper(plain, LengthWorldModel(), frames=2)


def test_execute_is_handed_down_as_the_anchors_seeds() -> None:
    plain = envs(lambda env: env, 8, AutoresetMode.DISABLED)
    env = vector.AnchorSamplingWrapper(plain, 0.5, seed=3)
    seeds = [0, 0, 1, 1, 2, 2, 3, 3]
    _, infos = env.reset(seed=seeds)
    expected = {seed for seed, anchor in zip(seeds, infos["anchor"], strict=True) if anchor}
    assert plain.envs[0].unwrapped.resets[-1] == (0, {"execute": expected})
    assert len(expected) == 2


def test_the_caller_can_forbid_execution() -> None:
    plain = envs(lambda env: env, 4, AutoresetMode.DISABLED)
    env = vector.AnchorSamplingWrapper(plain, 1.0)
    _, infos = env.reset(seed=0, options={"execute": {1, 2}})
    assert infos["anchor"].tolist() == [False, True, True, False]
    assert plain.envs[0].unwrapped.resets[-1][1] == {"execute": {1, 2}}
    _, infos = env.reset(seed=0, options={"execute": False})
    assert not infos["anchor"].any()


def test_groups_can_be_named_one_by_one() -> None:
    env = vector.AnchorSamplingWrapper(envs(lambda e: e, 3, AutoresetMode.DISABLED), 0.5)
    _, infos = env.reset(seed=[9, 9, 9], options={"group": [1, 1, 2]})
    assert infos["group"].tolist() == [1, 1, 2]
    assert infos["group"].dtype == np.int64
    assert env.reset(options={"group": 5})[1]["group"].tolist() == [5, 5, 5]
    with pytest.raises(ValueError, match="must be an integer or 3 of them"):
        env.reset(options={"group": [1, 2]})
    with pytest.raises(ValueError, match="seed must hold 3 seeds, got 2"):
        env.reset(seed=[1, 2])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"seed": 1.5}, TypeError, "seed must be an int, 3 ints or None, got 1.5"),
        ({"seed": "abc"}, TypeError, "seed must be an int, 3 ints or None, got 'abc'"),
        ({"seed": [1.5, 2, 3]}, TypeError, "seed must hold ints or None"),
        ({"options": {"group": 3.0}}, TypeError, "group.* must be an integer, got 3.0"),
        ({"options": {"group": {1, 2, 3}}}, TypeError, "group.* must be an integer"),
        ({"options": {"reset_mask": np.ones(2, bool)}}, ValueError, "must have shape .3,."),
    ],
)
def test_a_bad_reset_is_refused_by_name(arguments: dict, error: type, message: str) -> None:
    env = vector.AnchorSamplingWrapper(envs(lambda e: e, 3, AutoresetMode.DISABLED), 0.5)
    with pytest.raises(error, match=message):
        env.reset(**arguments)


def test_unseeded_sub_environments_do_not_share_a_group() -> None:
    env = vector.AnchorSamplingWrapper(envs(lambda e: e, 4, AutoresetMode.DISABLED), 0.5)
    ids = [env.reset()[1]["group"].tolist() for _ in range(3)]
    assert len({group for row in ids for group in row}) == 12


def test_the_budget_is_exact_over_sub_environments_and_autoresets() -> None:
    plain = envs(lambda env: env, 10, AutoresetMode.NEXT_STEP, max_length=1)
    env = vector.AnchorSamplingWrapper(plain, 0.1)
    _, infos = env.reset(seed=0)
    share = [infos["anchor"]]
    for _ in range(19):
        env.step(np.zeros(10, int))
        share.append(env.step(np.zeros(10, int))[4]["anchor"])
    share = np.stack(share)
    assert np.all(share.sum(axis=1) == 1)
    assert np.all(share.sum(axis=0) == 2)


def test_infos_that_an_environment_hands_out_are_not_written_to() -> None:
    class Hoarder(gym.vector.VectorWrapper):
        def step(self, actions: Any) -> Any:
            result = super().step(actions)
            self.kept = result[4]
            self.copy = {key: np.copy(value) for key, value in self.kept.items()}
            return result

    hoarder = Hoarder(envs(lambda e: e, 2, AutoresetMode.DISABLED, reports=True, max_length=1))
    env = predicted_anchors(vector)(hoarder)
    env.reset(seed=0)
    env.step(np.zeros(2, int))
    same(hoarder.kept, hoarder.copy, "infos")
