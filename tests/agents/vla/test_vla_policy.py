"""A policy on a vision-language-action network is a token policy like any other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wmrl_envs.agents import TokenPolicy
from wmrl_envs.agents.policies.vla import VLAModel, VLAPolicy

Observe = Callable[[int], dict[str, Any]]
Build = Callable[..., VLAPolicy]

OBSERVED = ("state", "pixels", "pixels_state")


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_it_fulfils_the_protocols(make_policy: Build) -> None:
    policy = make_policy()
    assert isinstance(policy, TokenPolicy) and isinstance(policy.model, VLAModel)
    assert policy.max_response_tokens == 14
    assert policy.device == torch.device("cpu")


@pytest.mark.parametrize("observed", OBSERVED)
def test_actions_are_chunks_as_the_environment_wants_them(
    make_policy: Build, observe: Observe, observed: str
) -> None:
    batch = make_policy(observation=observed).act([observe(0), observe(1)], generator=generator())
    assert len(batch) == 2
    for action in batch.actions:
        assert action.shape == (2, 7) and action.dtype == np.float32
        assert (np.abs(action) <= 1).all()


def test_without_chunks_an_action_has_one_axis(make_policy: Build, observe: Observe) -> None:
    assert make_policy(action_chunk=1).act([observe(0)]).actions[0].shape == (7,)


def test_no_observations_give_an_empty_batch(make_policy: Build) -> None:
    assert len(make_policy().act([])) == 0


@pytest.mark.parametrize("observed", OBSERVED)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probabilities_are_those_that_the_tokens_were_drawn_with(
    make_policy: Build, observe: Observe, observed: str, temperature: float
) -> None:
    policy = make_policy(observation=observed, temperature=temperature)
    batch = policy.act([observe(i) for i in range(5)], generator=generator())
    found = policy.log_probs(batch, entropy=True)
    np.testing.assert_allclose(found.log_probs.detach(), batch.log_probs, atol=1e-5)
    assert found.mask.all() and found.entropy is not None
    assert ((found.entropy > 0) & (found.entropy <= np.log(256) + 1e-5)).all()


def test_a_row_does_not_depend_on_the_rows_beside_it(make_policy: Build, observe: Observe) -> None:
    policy = make_policy()
    batch = policy.act([observe(i) for i in range(4)], generator=generator())
    together = policy.log_probs(batch).log_probs
    alone = policy.log_probs(batch.select([2])).log_probs[0]
    torch.testing.assert_close(together[2], alone, atol=1e-5, rtol=0)


def test_tokens_spell_the_action(make_policy: Build, observe: Observe) -> None:
    policy = make_policy()
    batch = policy.act([observe(0)], generator=generator())
    spelled = policy.model.action_tokenizer.decode(batch.responses[0]).reshape(2, 7)
    np.testing.assert_allclose(batch.actions[0], spelled, atol=1e-7)


def test_the_generator_decides_and_without_chance_the_likeliest_token_is_taken(
    make_policy: Build, observe: Observe
) -> None:
    policy = make_policy()
    drawn = [policy.act([observe(0)], generator=generator(s)).responses for s in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    likeliest = [policy.act([observe(0)], deterministic=True) for _ in range(2)]
    assert likeliest[0].responses == likeliest[1].responses
    assert sum(likeliest[0].log_probs[0]) > sum(policy.act([observe(0)]).log_probs[0])


def test_gradients_reach_every_weight_that_is_used(make_policy: Build, observe: Observe) -> None:
    policy = make_policy(observation="pixels_state")
    batch = policy.act([observe(0), observe(1)], generator=generator())
    policy.log_probs(batch).log_probs.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in policy.parameters())


def test_a_saved_policy_acts_as_before(
    make_policy: Build, observe: Observe, tmp_path: Path
) -> None:
    policy = make_policy(temperature=0.9)
    policy.save(tmp_path)
    loaded = VLAPolicy.load(tmp_path)
    assert loaded.temperature == 0.9
    first, second = (p.act([observe(3)], generator=generator()) for p in (policy, loaded))
    assert first.responses == second.responses and first.log_probs == second.log_probs
    assert VLAPolicy.load(tmp_path, temperature=0.5).temperature == 0.5


def test_a_frozen_copy_keeps_its_weights(make_policy: Build, observe: Observe) -> None:
    policy = make_policy()
    frozen = policy.frozen_copy()
    batch = policy.act([observe(0)], generator=generator())
    before = frozen.log_probs(batch).log_probs
    policy.load_state_dict(make_policy(seed=1).state_dict())
    assert torch.equal(frozen.log_probs(batch).log_probs, before)
    assert not torch.allclose(policy.log_probs(batch).log_probs, before)
    assert not before.requires_grad and not list(frozen.parameters())


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("inf"), float("nan")])
def test_the_temperature_must_be_positive(make_policy: Build, temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature must be > 0 and finite"):
        make_policy(temperature=temperature)
