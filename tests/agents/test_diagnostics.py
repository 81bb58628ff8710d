"""What the wrappers say of the rewards is logged at every step."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gymnasium.vector import VectorWrapper
from gymnasium.vector.utils import batch_space

from wmrl_envs.agents import GRPO, DiagnosticsCallback, LanguageModelPolicy
from wmrl_envs.wrappers import AdaptiveShare, AgreementMonitor
from wmrl_envs.wrappers.vector import (
    AnchorSamplingWrapper,
    CorrectionWrapper,
    WorldModelRewardWrapper,
)

MakePolicy = Callable[..., LanguageModelPolicy]
pytestmark = pytest.mark.filterwarnings("ignore::wmrl_envs.wrappers.RewardHackingWarning")


def misleading(episodes: Any) -> list[float]:
    """Likes every letter but the task's."""
    return [1 - e.actions[-1].count(e.task[0]) / 8 for e in episodes]


def stack(envs: Any) -> Any:
    """Rewards of a misleading world model, and anchors that become more."""
    envs.observation_space = batch_space(envs.single_observation_space, envs.num_envs)
    envs.action_space = batch_space(envs.single_action_space, envs.num_envs)
    monitor = AgreementMonitor(min_groups=2, half_life=2.0)
    adaptive = AdaptiveShare(monitor, highest=1.0, steps=2, patience=1)
    sampled = AnchorSamplingWrapper(envs, 0.5, adaptive=adaptive)
    return CorrectionWrapper(WorldModelRewardWrapper(sampled, misleading), monitor=monitor)


def test_the_agreement_of_a_misleading_world_model_is_logged_as_it_falls(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    model = GRPO(make_policy(), stack(letter_env(32))).learn(6, DiagnosticsCallback())
    last = model.history[-1]
    assert last["correction/agreement"] == pytest.approx(-1.0)
    assert last["correction/agreement_alarm"] == 1.0
    assert last["rollout/measured_share"] > model.history[0]["rollout/measured_share"] == 0.5
    assert last["correction/fraction"] == 1.0


def test_wrappers_further_in_are_heard_and_a_plain_environment_says_nothing(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    outer = VectorWrapper(stack(letter_env(16)))
    assert "x/slope" in GRPO(make_policy(), outer).learn(1, DiagnosticsCallback("x")).history[0]
    plain = GRPO(make_policy(), letter_env(8)).learn(1, DiagnosticsCallback())
    assert not any(name.startswith("correction/") for name in plain.history[0])


def test_a_resumed_run_with_an_adaptive_share_goes_on_bit_for_bit(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    whole = GRPO(make_policy(), stack(letter_env(32))).learn(6, DiagnosticsCallback())
    GRPO(make_policy(), stack(letter_env(32))).learn(3).save(tmp_path / "model.pt")
    resumed = GRPO.load(tmp_path / "model.pt", policy=make_policy(1), envs=stack(letter_env(32)))
    resumed.learn(6, DiagnosticsCallback())

    def deterministic(row: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in row.items() if not name.startswith("time/")}

    for ours, theirs in zip(resumed.history[3:], whole.history[3:], strict=True):
        assert deterministic(ours) == deterministic(theirs)
