"""Overlapping rollouts: bounded staleness, the same run each time, and resumed bit for bit."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from testing_letter_env import GrowingReward, LetterEnv

from wmrl_envs.agents import GRPO, BaseCallback, CheckpointCallback, LanguageModelPolicy, Rollout

MakePolicy = Callable[..., LanguageModelPolicy]
SETTINGS: dict[str, Any] = {"group_size": 4, "learning_rate": 1e-2, "seed": 3, "minibatches": 2}


def stacks(staleness: int, turns: int = 3) -> list[GrowingReward]:
    """Environments whose wrappers have state; episodes of up to so many turns."""
    return [
        GrowingReward(LetterEnv(8, turns=lambda seed: 1 + seed % turns))
        for _ in range(staleness + 1)
    ]


def learner(policy: LanguageModelPolicy, staleness: int, **changes: Any) -> GRPO:
    settings = {**SETTINGS, "max_staleness": staleness, **changes}
    return GRPO(policy, stacks(staleness), **settings)


def weights(model: GRPO) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.policy.parameters()])


@pytest.mark.parametrize("staleness", [1, 2])
def test_equal_seeds_train_equal_policies(make_policy: MakePolicy, staleness: int) -> None:
    a, b = (learner(make_policy(), staleness).learn(5) for _ in range(2))
    assert torch.equal(weights(a), weights(b))
    assert not torch.equal(weights(a), weights(learner(make_policy(), 0).learn(5)))


def test_one_environment_in_a_list_trains_as_ever(make_policy: MakePolicy) -> None:
    alone = GRPO(make_policy(), stacks(0)[0], **SETTINGS).learn(3)
    assert torch.equal(weights(alone), weights(learner(make_policy(), 0).learn(3)))


class Ages(BaseCallback):
    """Notes how far the sampled log-probabilities are from the policy about to be updated."""

    def __init__(self) -> None:
        self.updates: list[int] = []
        self.seeds: list[int] = []
        self._past: list[LanguageModelPolicy] = []

    def on_rollout_end(self, rollout: Rollout) -> None:
        """Finds the past policy that each token came from."""
        self._past.append(self.model.policy.frozen_copy())
        drawn = rollout.samples.log_probs
        fits = np.array(
            [
                [
                    np.allclose(found[: len(told)].tolist(), told, atol=1e-5)
                    for found, told in zip(
                        policy.log_probs(rollout.samples).log_probs, drawn, strict=True
                    )
                ]
                for policy in reversed(self._past)
            ]
        )
        assert fits.any(axis=0).all()
        self.updates.append(int(fits.argmax(axis=0).max()))
        self.seeds += np.unique(rollout.seeds).tolist()


@pytest.mark.parametrize("staleness", [1, 2])
def test_no_token_is_older_than_the_bound(make_policy: MakePolicy, staleness: int) -> None:
    """The bound is reached, and the groups come in the order of a synchronous run."""
    ages = Ages()
    learner(make_policy(), staleness).learn(6, ages)
    assert max(ages.updates) == staleness
    assert ages.updates[0] == 0
    assert ages.seeds == list(range(3_000_000, 3_000_012))


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


@pytest.mark.parametrize("staleness", [1, 2])
@pytest.mark.parametrize("last_checkpoint", [2, 3])
def test_a_killed_run_resumes_bit_for_bit(
    make_policy: MakePolicy, tmp_path: Path, staleness: int, last_checkpoint: int
) -> None:
    """Batches under way come from policies that are gone; their actions are in the checkpoint."""
    whole = learner(make_policy(), staleness).learn(6)
    with pytest.raises(Killed):
        learner(make_policy(), staleness).learn(
            6, [KillAt(3), CheckpointCallback(tmp_path / "{step}.pt", every=2)]
        )
    path = tmp_path / f"{last_checkpoint}.pt"
    resumed = GRPO.load(path, policy=make_policy(seed=9), envs=stacks(staleness)).learn(6)
    assert torch.equal(weights(whole), weights(resumed))
    for a, b in zip(whole.history, resumed.history, strict=True):
        assert {k: v for k, v in a.items() if "time/" not in k} == {
            k: v for k, v in b.items() if "time/" not in k
        }


def test_a_run_that_stopped_between_steps_goes_on(make_policy: MakePolicy) -> None:
    whole = learner(make_policy(), 1).learn(5)
    model = learner(make_policy(), 1)
    model.learn(5, lambda model: model.step < 2)
    assert model.step == 2
    assert torch.equal(weights(whole), weights(model.learn(5)))


def test_it_learns_as_synchronous_runs_do(make_policy: MakePolicy, letter_env: Any) -> None:
    envs = [letter_env(32), letter_env(32)]
    model = GRPO(make_policy(), envs, learning_rate=1e-2, inner_epochs=2, max_staleness=1)
    rewards = [row["rollout/reward_mean"] for row in model.learn(40).history]
    assert np.mean(rewards[:3]) < 0.15
    assert np.mean(rewards[-5:]) > 0.5


class Meeting(LetterEnv):
    """Whose second step, and every later one, returns only once the policy was asked meanwhile."""

    def __init__(self, asked: threading.Event) -> None:
        super().__init__(8)
        self.asked = asked

    def step(self, actions: Any) -> tuple[Any, ...]:
        """Fails where sampling waits for the environment."""
        assert self.asked.wait(timeout=60), "nothing was sampled while the environment was busy"
        return super().step(actions)


def test_sampling_goes_on_while_an_environment_is_busy(make_policy: MakePolicy) -> None:
    """The first batch's step waits for the second batch to be sampled."""
    asked, policy = threading.Event(), make_policy()
    act, calls = policy.act, []

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            asked.set()
        return act(*args, **kwargs)

    policy.act = counted  # type: ignore[method-assign]
    model = GRPO(policy, [Meeting(asked), Meeting(asked)], group_size=4, max_staleness=1)
    assert model.learn(2).step == 2


class Failing(LetterEnv):
    """Fails in its second step."""

    steps = 0

    def step(self, actions: Any) -> tuple[Any, ...]:
        """Steps once."""
        self.steps += 1
        if self.steps == 2:
            raise OSError("the machine is gone")
        return super().step(actions)


def test_an_environments_error_ends_training_where_it_can_be_caught(
    make_policy: MakePolicy,
) -> None:
    model = GRPO(make_policy(), [Failing(8), LetterEnv(8)], group_size=4, max_staleness=1)
    with pytest.raises(OSError, match="the machine is gone"):
        model.learn(4)
    assert model.step == 2


def test_wrong_numbers_of_environments_are_named(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="max_staleness=1 needs 2 environments, got 1"):
        GRPO(make_policy(), letter_env(8), max_staleness=1)
    with pytest.raises(ValueError, match="envs must be of one size, got 8 and 16"):
        GRPO(make_policy(), [letter_env(8), letter_env(16)], max_staleness=1)
    with pytest.raises(ValueError, match="max_staleness must be finite and >= 0, got -1"):
        GRPO(make_policy(), letter_env(8), max_staleness=-1)
    learner(make_policy(), 1).save(tmp_path / "model.pt")
    load: dict[str, Any] = {"path": tmp_path / "model.pt", "policy": make_policy()}
    with pytest.raises(ValueError, match="max_staleness must be 0 if it was"):
        GRPO.load(**load, envs=stacks(0), max_staleness=0)
    with pytest.raises(ValueError, match="envs must be 2 environments, as saved, got 3"):
        GRPO.load(**load, envs=stacks(2), max_staleness=2)
