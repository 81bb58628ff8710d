"""What the wrappers record of themselves, and what becomes of a stack's specification."""

import ast
import inspect
import textwrap
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from testing_env import LengthWorldModel, play

from wmrl_envs import wrappers as single
from wmrl_envs.wrappers import vector

CLASSES = [
    single.AnchorSamplingWrapper,
    single.WorldModelRewardWrapper,
    single.CorrectionWrapper,
    vector.AnchorSamplingWrapper,
    vector.WorldModelRewardWrapper,
    vector.CorrectionWrapper,
    vector.FreezeWrapper,
]


def recorded(cls: type) -> set[str]:
    """The argument names that a constructor hands to RecordConstructorArgs."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls.__init__)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and "RecordConstructorArgs" in ast.unparse(node.func):
            for keyword in node.keywords:
                if keyword.arg != "_disable_deepcopy":
                    assert ast.unparse(keyword.value) == keyword.arg
            return {str(keyword.arg) for keyword in node.keywords} - {"_disable_deepcopy"}
    raise AssertionError(f"{cls} records nothing")


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_every_argument_is_recorded_under_its_own_name(cls: type) -> None:
    assert recorded(cls) == set(inspect.signature(cls).parameters) - {"env"}


def whole_stack() -> Any:
    env: Any = gym.make("CartPole-v1", max_episode_steps=20)
    env = single.AnchorSamplingWrapper(env, fraction=0.5, seed=4)
    env = single.WorldModelRewardWrapper(env, "testing_env:LengthWorldModel", {"scale": 2.0})
    return single.CorrectionWrapper(env, "paper", estimator_kwargs={"prior_pairs": 8.0})


def test_a_stack_survives_its_json_specification() -> None:
    original = whole_stack()
    copy = gym.make(EnvSpec.from_json(original.spec.to_json()))
    assert str(copy) == str(original)
    for seed in range(12):
        assert play(original, seed=seed) == play(copy, seed=seed)


def test_wrappers_can_be_registered_with_an_environment() -> None:
    gym.register(
        "WMRL/WrappedCartPole-v0",
        "gymnasium.envs.classic_control:CartPoleEnv",
        max_episode_steps=20,
        additional_wrappers=(
            single.AnchorSamplingWrapper.wrapper_spec(fraction=0.5, seed=4),
            single.WorldModelRewardWrapper.wrapper_spec(world_model=LengthWorldModel),
        ),
    )
    try:
        info = play(gym.make("WMRL/WrappedCartPole-v0"), seed=0)[2]
        assert {"group", "anchor", "predicted_reward"} <= info.keys()
    finally:
        gym.registry.pop("WMRL/WrappedCartPole-v0")


def test_a_world_model_object_is_not_copied_at_construction() -> None:
    class Uncopyable(LengthWorldModel):
        def __deepcopy__(self, memo: dict) -> None:
            raise MemoryError

    single.WorldModelRewardWrapper(gym.make("CartPole-v1"), Uncopyable())


@pytest.mark.parametrize("module", [single, vector])
def test_the_order_of_the_stack_is_checked(module: Any) -> None:
    def inner() -> Any:
        if module is single:
            return gym.make("CartPole-v1")
        return gym.make_vec("CartPole-v1", 2, "sync")

    class Derived(module.CorrectionWrapper):  # type: ignore[misc]
        pass

    with pytest.raises(ValueError, match="AnchorSamplingWrapper belongs beneath"):
        module.AnchorSamplingWrapper(Derived(inner()))
    corrected = module.CorrectionWrapper(inner())
    for outer in (module.AnchorSamplingWrapper, module.CorrectionWrapper):
        with pytest.raises(ValueError, match=f"{outer.__name__} belongs beneath CorrectionWrapper"):
            outer(corrected)
    with pytest.raises(ValueError, match="WorldModelRewardWrapper belongs beneath"):
        module.WorldModelRewardWrapper(corrected, LengthWorldModel())
