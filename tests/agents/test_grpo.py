"""GRPO: it learns, it resumes bit for bit, and only graded rows move it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wmrl_envs.agents import (
    GRPO,
    BaseCallback,
    CheckpointCallback,
    GRPOSettings,
    LanguageModelPolicy,
    Rollout,
    collect,
)
from wmrl_envs.agents.update import Update

MakePolicy = Callable[..., LanguageModelPolicy]
Gradients = list[torch.Tensor]


def weights(policy: LanguageModelPolicy) -> list[torch.Tensor]:
    return [p.detach().clone() for p in policy.parameters()]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def draw(policy: LanguageModelPolicy, envs: Any, seeds: list[int]) -> Rollout:
    """A rollout with rewards that differ within each group."""
    rollout = collect(policy, envs, seeds, generator=torch.Generator().manual_seed(0))
    rollout.rewards = np.random.default_rng(0).random(len(rollout))
    return rollout


def gradients(policy: LanguageModelPolicy, rollout: Rollout, **settings: Any) -> Gradients:
    """The gradient that the first optimiser step of an update follows."""
    settings = {"scale": "none", "max_grad_norm": 1e9, **settings}
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
    reference = policy.frozen_copy() if settings.get("kl_coef") else None
    policy.model.zero_grad()
    Update(policy, reference, optimizer, GRPOSettings(**settings))(rollout)
    zeros = (torch.zeros_like(p) for p in policy.parameters())
    pairs = zip(policy.parameters(), zeros, strict=True)
    return [z if p.grad is None else p.grad.clone() for p, z in pairs]


def test_grpo_learns_to_write_the_tasks_letter(make_policy: MakePolicy, letter_env: Any) -> None:
    """The reward rises from 1/26 to more than half; on four seeds it reached .75 and more."""
    model = GRPO(make_policy(), letter_env(32), learning_rate=1e-2, inner_epochs=2)
    model.learn(40)
    rewards = [row["rollout/reward_mean"] for row in model.history]
    assert np.mean(rewards[:3]) < 0.15
    assert np.mean(rewards[-5:]) > 0.5


def test_group_seeds_count_up_over_steps(make_policy: MakePolicy, letter_env: Any) -> None:
    envs = letter_env(6)
    GRPO(make_policy(), envs, group_size=3, seed=2).learn(2)
    first = 2_000_000
    expected = [[first + 2 * s] * 3 + [first + 2 * s + 1] * 3 for s in range(2)]
    assert envs.seeds_seen == expected
    envs = letter_env(4)
    GRPO(make_policy(), envs, group_size=4, first_group_seed=7).learn(2)
    assert envs.seeds_seen == [[7] * 4, [8] * 4]


class Killed(BaseException):
    """Stands for a signal that ends the process."""


class KillAt(BaseCallback):
    """Ends training while the given step is under way."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_rollout_end(self, rollout: Rollout) -> None:
        """Raises in the middle of a step."""
        if self.model.step == self.step:
            raise Killed


SETTINGS: dict[str, Any] = {
    "group_size": 4,
    "learning_rate": 1e-2,
    "schedule": "linear",
    "kl_coef": 0.05,
    "entropy_coef": 0.01,
    "inner_epochs": 2,
    "minibatches": 2,
    "token_budget": 64,
    "seed": 3,
}


@pytest.mark.parametrize("last_checkpoint", [2, 3])
def test_a_killed_run_resumes_bit_for_bit(
    make_policy: MakePolicy,
    letter_env: Any,
    growing_reward: Any,
    tmp_path: Path,
    last_checkpoint: int,
) -> None:
    """Policy, optimizer, reference, generators, schedule and a wrapper's state all continue.

    The run dies in its fourth step. Step 2 is the last whose checkpoint was due; step 3 is written
    where the exception leaves time for it.
    """

    def envs() -> Any:
        return growing_reward(letter_env(8, turns=lambda seed: 1 + seed % 2))

    whole = GRPO(make_policy(), envs(), **SETTINGS).learn(6)
    cut = GRPO(make_policy(), envs(), **SETTINGS)
    with pytest.raises(Killed):
        cut.learn(6, [KillAt(3), CheckpointCallback(tmp_path / "{step}.pt", every=2)])
    path = tmp_path / f"{last_checkpoint}.pt"
    resumed = GRPO.load(path, policy=make_policy(seed=9), envs=envs())
    assert resumed.step == last_checkpoint
    resumed.learn(6)
    assert same(weights(whole.policy), weights(resumed.policy))
    assert [strip(row) for row in whole.history] == [strip(row) for row in resumed.history]
    assert resumed.metrics["episodes"] == whole.metrics["episodes"] == 48


def strip(row: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in row.items() if not name.startswith("time/")}


def test_equal_seeds_train_equal_policies(make_policy: MakePolicy, letter_env: Any) -> None:
    a, b = (GRPO(make_policy(), letter_env(8), **SETTINGS).learn(2) for _ in range(2))
    c = GRPO(make_policy(), letter_env(8), **{**SETTINGS, "seed": 4}).learn(2)
    assert same(weights(a.policy), weights(b.policy))
    assert not same(weights(a.policy), weights(c.policy))


def test_an_ungraded_row_changes_nothing_in_the_gradient(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    policy = make_policy()
    rollout = draw(policy, letter_env(8), [0] * 4 + [1] * 4)
    rollout.graded[2] = False
    with_row = gradients(policy, rollout)
    rollout.rewards[2], rollout.weights[2] = 1e6, 50.0
    other_reward = gradients(policy, rollout)
    short = rows_of(rollout, [0, 1, 3, 4, 5, 6, 7])
    without_row = gradients(policy, short)
    assert same(with_row, other_reward)
    for a, b in zip(with_row, without_row, strict=True):
        torch.testing.assert_close(a, b, atol=1e-7, rtol=1e-5)


def rows_of(rollout: Rollout, rows: list[int]) -> Rollout:
    """The rollout of some episodes of one turn each."""
    names = ("seeds", "groups", "rewards", "graded", "weights", "measured", "predicted")
    arrays = {name: getattr(rollout, name)[rows] for name in (*names, "corrected", "turns")}
    return dataclasses.replace(
        rollout, **arrays, samples=rollout.samples.select(rows), episodes=np.arange(len(rows))
    )


def test_weights_scale_the_gradient_of_their_group(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    policy = make_policy()
    rollout = draw(policy, letter_env(8), [0] * 4 + [1] * 4)

    def gradient(first: float, second: float) -> Gradients:
        rollout.weights = np.array([first] * 4 + [second] * 4)
        return gradients(policy, rollout, scale="batch")

    together, first, second = gradient(3.0, 0.5), gradient(1.0, 0.0), gradient(0.0, 1.0)
    for whole, a, b in zip(together, first, second, strict=True):
        torch.testing.assert_close(whole, 3.0 * a + 0.5 * b, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("normalization", ["sequence", "token", "constant"])
@pytest.mark.parametrize("kl_coef", [0.0, 0.1])
def test_accumulated_gradients_equal_those_of_one_big_batch(
    make_policy: MakePolicy, letter_env: Any, normalization: str, kl_coef: float
) -> None:
    policy = make_policy(stop_ids=[1, 5, 9, 12])
    envs = letter_env(12, turns=lambda seed: 1 + seed)
    rollout = draw(policy, envs, [0] * 6 + [1] * 6)
    settings: dict[str, Any] = {"loss_normalization": normalization, "kl_coef": kl_coef}
    big = gradients(policy, rollout, token_budget=10**6, **settings)
    for budget in (1, 20, 60):
        parts = gradients(policy, rollout, token_budget=budget, **settings)
        for a, b in zip(big, parts, strict=True):
            torch.testing.assert_close(a, b, atol=1e-6, rtol=0)
    assert max(float(g.abs().max()) for g in big) > 1e-3


def test_repeated_answers_count_as_often_as_they_stand(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    """Two equal answers with equal rewards pull like one answer of twice the weight."""
    policy = make_policy()
    rollout = draw(policy, letter_env(4), [0] * 4)
    rollout.samples = rollout.samples.select([0, 0, 2, 3])
    rollout.rewards = np.array([1.0, 1.0, 0.0, 0.5])
    twice = gradients(policy, rollout)
    rollout.weights = np.array([2.0, 0.0, 1.0, 1.0])
    for a, b in zip(twice, gradients(policy, rollout), strict=True):
        torch.testing.assert_close(a, b, atol=1e-7, rtol=1e-5)


def test_turns_of_an_episode_share_its_advantage(make_policy: MakePolicy, letter_env: Any) -> None:
    """The gradient of two-turn episodes is the policy gradient summed over both turns."""
    policy = make_policy()
    rollout = draw(policy, letter_env(2, turns=lambda seed: 2), [0, 0])
    rollout.rewards = np.array([1.0, 0.0])
    found = gradients(policy, rollout, loss_normalization="token")
    policy.model.zero_grad()
    result = policy.log_probs(rollout.samples)
    advantage = torch.tensor([0.5, -0.5])[rollout.episodes]
    (-(result.log_probs.sum(1) * advantage).sum() / result.mask.sum()).backward()
    for a, parameter in zip(found, policy.parameters(), strict=True):
        torch.testing.assert_close(a, parameter.grad, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(
    "final_info", [lambda seed, row: {"graded": False}, lambda seed, row: {"reward_weight": 0.0}]
)
def test_without_a_graded_or_weighted_row_nothing_moves(
    make_policy: MakePolicy, letter_env: Any, final_info: Any
) -> None:
    policy = make_policy()
    before = weights(policy)
    model = GRPO(policy, letter_env(8, final_info=final_info), learning_rate=0.1, weight_decay=0.1)
    model.learn(2)
    assert same(before, weights(policy))
    assert all(np.isfinite(list(row.values())).all() for row in model.history)
    assert "train/loss" not in model.history[-1]


def test_groups_of_equal_rewards_move_nothing(make_policy: MakePolicy, letter_env: Any) -> None:
    policy = make_policy(prompt=lambda observation: [3])
    rollout = draw(policy, letter_env(8), [0] * 4 + [1] * 4)
    rollout.rewards[:] = 0.1
    assert all((g == 0).all() for g in gradients(policy, rollout))


def test_a_gradient_that_is_not_finite_is_skipped_and_counted(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    policy = make_policy()
    rollout = draw(policy, letter_env(4), [0] * 4)
    rollout.weights[:] = 1e39
    before = weights(policy)
    optimizer = torch.optim.SGD(policy.parameters(), lr=1.0)
    _, report = Update(policy, None, optimizer, GRPOSettings())(rollout)
    assert report["skipped_steps"] == 1.0
    assert same(before, weights(policy))


def test_stale_rollouts_are_weighted_down(make_policy: MakePolicy, letter_env: Any) -> None:
    """Where the sampling policy was e times as sure of each token, the gradient is 1/e of it."""
    policy = make_policy()
    rollout = draw(policy, letter_env(4), [0] * 4)
    fresh = gradients(policy, rollout)
    rollout.samples.log_probs = [tuple(p + 1 for p in row) for row in rollout.samples.log_probs]
    for a, b in zip(fresh, gradients(policy, rollout), strict=True):
        torch.testing.assert_close(a / np.e, b, atol=1e-6, rtol=1e-4)


def test_the_kl_term_holds_the_policy_near_its_start(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    def drift(kl_coef: float) -> float:
        model = GRPO(
            make_policy(), letter_env(16), learning_rate=1e-2, kl_coef=kl_coef, scale="none"
        )
        model.learn(10)
        start = make_policy()
        batch = model.policy.act([{"task": "a>"}] * 20, deterministic=True)
        new, old = (p.log_probs(batch).log_probs.detach() for p in (model.policy, start))
        return float((new - old).abs().mean())

    assert drift(10.0) < 0.5 * drift(1e-6)


def test_measured_predicted_and_corrected_rewards_are_logged(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    def final_info(seed: int, row: int) -> dict[str, Any]:
        measured = {"measured_reward": 0.25} if row < 2 else {}
        return {"predicted_reward": 0.5, "corrected_reward": 0.75, **measured}

    model = GRPO(
        make_policy(),
        letter_env(8, final_info=final_info),
        tensorboard_log=tmp_path,
        kl_coef=0.1,
    )
    row = model.learn(1).history[-1]
    assert row["step"] == 1
    assert row["rollout/measured_mean"] == 0.25 and row["rollout/measured_share"] == 0.25
    assert row["rollout/predicted_mean"] == 0.5 and row["rollout/corrected_mean"] == 0.75
    names = ["kl", "clip_fraction", "gradient_norm", "learning_rate", "loss"]
    assert {f"train/{name}" for name in names} <= row.keys()
    assert {"rollout/entropy", "rollout/unique_action_share", "rollout/advantage_std"} <= row.keys()
    assert next(tmp_path.iterdir()).name.startswith("events.out.tfevents")
    assert model.metrics["episodes"] == 8 and model.metrics["generation_wall_seconds"] > 0


def test_learning_rates_rise_and_fall_as_scheduled() -> None:
    settings = GRPOSettings(learning_rate=1.0, schedule="linear", warmup_steps=1)
    assert [settings.learning_rate_at(step, 4) for step in range(4)] == [0.5, 0.75, 0.5, 0.25]
    cosine = GRPOSettings(learning_rate=1.0, schedule="cosine")
    assert cosine.learning_rate_at(2, 4) == pytest.approx(0.5)
    assert GRPOSettings(learning_rate=0.3).learning_rate_at(9, 4) == 0.3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group_size": 1}, "group_size must be finite and >= 2, got 1"),
        ({"group_size": 3}, r"group_size must divide envs.num_envs \(8\), got 3"),
        ({"learning_rate": 0.0}, "learning_rate must be finite and > 0, got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be finite"),
        ({"inner_epochs": 0}, "inner_epochs must be"),
        ({"minibatches": 0}, "minibatches must be"),
        ({"token_budget": 0}, "token_budget must be"),
        ({"clip_low": 0.0}, "clip_low must be"),
        ({"kl_coef": -1.0}, "kl_coef must be"),
        ({"scale": "std"}, "scale must be one of"),
        ({"loss_normalization": "mean"}, "loss_normalization must be one of"),
        ({"schedule": "step"}, "schedule must be one of"),
        ({"max_grad_norm": -1.0}, "max_grad_norm must be"),
        ({"first_group_seed": -1}, "first_group_seed must be"),
    ],
)
def test_bad_settings_are_named(
    make_policy: MakePolicy, letter_env: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        GRPO(make_policy(), letter_env(8), **settings)


def test_unknown_settings_and_wrong_parts_are_named(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    with pytest.raises(TypeError, match=r"unknown settings \['n_steps'\]"):
        GRPO(make_policy(), letter_env(8), n_steps=5)
    for setting in ({"group_size": 4.0}, {"minibatches": True}, {"learning_rate": "1e-4"}):
        with pytest.raises(TypeError, match=f"{next(iter(setting))} must be of type"):
            GRPO(make_policy(), letter_env(8), **setting)
    with pytest.raises(TypeError, match="policy must be a TokenPolicy, got str"):
        GRPO("MlpPolicy", letter_env(8))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"envs must be a gymnasium.vector.VectorEnv, got str"):
        GRPO(make_policy(), "CartPole-v1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="total_steps must be >= 0, got -1"):
        GRPO(make_policy(), letter_env(8)).learn(-1)
