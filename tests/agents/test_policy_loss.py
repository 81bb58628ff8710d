"""The policy loss against hand-computed values and against a slow loop in plain Python."""

import math
from typing import Any

import pytest
import torch

from wmrl_envs.agents.loss import (
    clipped_objective,
    k3_divergence,
    policy_loss,
    row_coefficients,
    truncated_importance_weights,
)


def log(*values: float) -> torch.Tensor:
    return torch.tensor([values]).log()


def test_the_clip_takes_the_gradient_only_where_the_push_goes_on() -> None:
    """Ratios 0.5, 1.0 and 1.5 for either sign of the advantage."""
    new, old = log(0.1, 0.2, 0.3), log(0.2, 0.2, 0.2)
    up = clipped_objective(new, old, torch.tensor([2.0]), clip_low=0.2, clip_high=0.28)
    down = clipped_objective(new, old, torch.tensor([-2.0]), clip_low=0.2, clip_high=0.28)
    torch.testing.assert_close(up.values, torch.tensor([[1.0, 2.0, 2.56]]))
    assert up.clipped.tolist() == [[False, False, True]]
    torch.testing.assert_close(down.values, torch.tensor([[-1.6, -2.0, -3.0]]))
    assert down.clipped.tolist() == [[True, False, False]]


def test_k3_is_zero_for_equal_policies_and_positive_otherwise() -> None:
    values = k3_divergence(log(0.2, 0.4, 0.1), log(0.2, 0.2, 0.2))
    expected = [0.0, 0.5 - math.log(0.5) - 1, 2 - math.log(2) - 1]
    torch.testing.assert_close(values, torch.tensor([expected]))


def test_the_mean_of_k3_over_all_tokens_is_the_divergence() -> None:
    policy, reference = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.2, 0.6])
    mean = (policy * k3_divergence(policy.log(), reference.log())).sum()
    torch.testing.assert_close(mean, (policy * (policy / reference).log()).sum())


def test_importance_weights_are_cut_at_the_limit_and_carry_no_gradient() -> None:
    old = log(0.1, 0.4, 0.8).requires_grad_()
    weights = truncated_importance_weights(old, log(0.2, 0.2, 0.2), limit=2.0)
    torch.testing.assert_close(weights, torch.tensor([[0.5, 2.0, 2.0]]))
    assert not weights.requires_grad


def test_coefficients_average_over_sequences_tokens_or_a_constant() -> None:
    """Three rows: two turns of episode 0 with 1 and 3 tokens, and episode 1 with 2 tokens."""
    counts, episodes = torch.tensor([1, 3, 2]), torch.tensor([0, 0, 1])
    sequence = row_coefficients(counts, episodes, "sequence", num_episodes=2)
    token = row_coefficients(counts, episodes, "token", num_episodes=2)
    constant = row_coefficients(counts, episodes, "constant", num_episodes=2, constant=10)
    torch.testing.assert_close(sequence, torch.tensor([1 / 8, 1 / 8, 1 / 4]))
    torch.testing.assert_close(token, torch.full((3,), 1 / 6))
    torch.testing.assert_close(constant, torch.full((3,), 1 / 20))


def test_an_unknown_normalization_is_named() -> None:
    with pytest.raises(ValueError, match=r"normalization must be one of .* got 'mean'"):
        row_coefficients(torch.ones(1), torch.zeros(1, dtype=torch.long), "mean", num_episodes=1)  # type: ignore[arg-type]


def slow_loss(
    new: list[list[float]],
    old: list[list[float]],
    behaviour: list[list[float]],
    reference: list[list[float]],
    advantages: list[float],
    lengths: list[int],
    normalization: str,
    **s: float,
) -> float:
    """GRPO's loss token by token, one episode a row, from the papers' formulas."""
    rows = []
    for b, advantage in enumerate(advantages):
        tokens = []
        for t in range(lengths[b]):
            ratio = math.exp(new[b][t] - old[b][t])
            bound = min(max(ratio, 1 - s["clip_low"]), 1 + s["clip_high"])
            gain = min(ratio * advantage, bound * advantage)
            gain *= min(math.exp(old[b][t] - behaviour[b][t]), s["importance_limit"])
            d = reference[b][t] - new[b][t]
            tokens.append(-(gain - s["kl_coef"] * (math.exp(d) - d - 1)))
        rows.append(tokens)
    if normalization == "sequence":
        return sum(sum(r) / len(r) for r in rows) / len(rows)
    if normalization == "token":
        return sum(map(sum, rows)) / sum(map(len, rows))
    return sum(map(sum, rows)) / (len(rows) * s["constant"])


@pytest.mark.parametrize("normalization", ["sequence", "token", "constant"])
def test_the_loss_equals_a_slow_loop(normalization: Any) -> None:
    draw = torch.Generator().manual_seed(3)
    lengths = [5, 2, 4, 1]
    new, old, behaviour, reference = (
        (-3 + torch.randn(4, 5, generator=draw)).double() for _ in range(4)
    )
    advantages = torch.tensor([1.5, -0.5, 0.3, -1.3]).double()
    mask = (torch.arange(5) < torch.tensor(lengths)[:, None]).double()
    coefficients = row_coefficients(
        torch.tensor(lengths), torch.arange(4), normalization, num_episodes=4, constant=7.0
    )
    terms = policy_loss(
        new,
        old,
        advantages,
        mask,
        coefficients.double(),
        clip_low=0.2,
        clip_high=0.28,
        behaviour_log_probs=behaviour,
        importance_limit=2.0,
        reference_log_probs=reference,
        kl_coef=0.1,
    )
    expected = slow_loss(
        *(tensor.tolist() for tensor in (new, old, behaviour, reference, advantages)),
        lengths,
        normalization,
        clip_low=0.2,
        clip_high=0.28,
        importance_limit=2.0,
        kl_coef=0.1,
        constant=7.0,
    )
    assert float(terms.loss) == pytest.approx(expected, rel=1e-6)


def test_an_entropy_bonus_lowers_the_loss_by_its_mean() -> None:
    ones = torch.ones(2, 3)
    arguments = (-ones, -ones, torch.zeros(2), ones, torch.full((2,), 1 / 6))
    terms = policy_loss(*arguments, entropy=2 * ones, entropy_coef=0.1)
    assert float(terms.loss) == pytest.approx(-0.2)


def test_at_ratio_one_the_gradient_is_the_policy_gradient() -> None:
    new = log(0.2, 0.3, 0.5).requires_grad_()
    terms = policy_loss(
        new, new.detach(), torch.tensor([2.0]), torch.ones(1, 3), torch.tensor([1 / 3])
    )
    terms.loss.backward()
    torch.testing.assert_close(new.grad, torch.full((1, 3), -2 / 3))
