"""The policy loss of GRPO and its relatives, as pure functions of tensors.

Sources: clipped ratio, PPO (Schulman et al. 2017, equation 7); clip-higher and the token-level
mean, DAPO (Yu et al. 2025); k3, "Approximating KL Divergence" (Schulman 2020);
sequence mean, GRPO (Shao et al. 2024, equation 3); constant divisor, Dr. GRPO (Liu et al. 2025);
truncated importance weights, IMPALA (Espeholt et al. 2018) and Yao et al. (2025).
"""

from typing import NamedTuple, get_args

import torch

from wmrl_envs.agents.settings import Normalization

__all__ = [
    "ClippedObjective",
    "LossTerms",
    "clipped_objective",
    "k3_divergence",
    "policy_loss",
    "row_coefficients",
    "truncated_importance_weights",
]


class ClippedObjective(NamedTuple):
    """The clipped objective of each token.

    Attributes:
        values: (B, T), to be maximised.
        clipped: (B, T), bool: the clip took the token's gradient away.
    """

    values: torch.Tensor
    clipped: torch.Tensor


def clipped_objective(
    log_probs: torch.Tensor,
    old_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
) -> ClippedObjective:
    """Computes ``min(r A, clip(r, 1 - clip_low, 1 + clip_high) A)`` with ``r = new / old``.

    Args:
        log_probs: (B, T), of the policy in training.
        old_log_probs: (B, T), of the policy before this update; constants.
        advantages: (B,), one a row.
        clip_low: The most that the ratio may fall before a negative advantage stops pushing.
        clip_high: The most that it may rise before a positive one does.
    """
    ratio = torch.exp(log_probs - old_log_probs)
    advantage = advantages[:, None]
    free = ratio * advantage
    bound = ratio.clamp(1 - clip_low, 1 + clip_high) * advantage
    return ClippedObjective(torch.minimum(free, bound), bound < free)


def k3_divergence(log_probs: torch.Tensor, reference_log_probs: torch.Tensor) -> torch.Tensor:
    """Estimates ``KL(policy || reference)`` at each token by ``exp(d) - d - 1 >= 0``.

    Here ``d = reference - policy``; the mean over the policy's own samples is unbiased.
    """
    difference = reference_log_probs - log_probs
    return torch.exp(difference) - difference - 1


def truncated_importance_weights(
    old_log_probs: torch.Tensor, behaviour_log_probs: torch.Tensor, limit: float
) -> torch.Tensor:
    """Computes ``min(old / behaviour, limit)``, (B, T), for samples of an older policy.

    The behaviour policy is the one that sampled: some updates ago where rollouts are stale, cut to
    its nucleus where ``top_p`` is below one, in other arithmetic where an engine serves it.
    """
    return torch.exp(old_log_probs - behaviour_log_probs).clamp(max=limit).detach()


def row_coefficients(
    token_counts: torch.Tensor,
    episodes: torch.Tensor,
    normalization: Normalization,
    *,
    num_episodes: int,
    constant: float = 1.0,
) -> torch.Tensor:
    """Returns the factor of each row's summed token losses in the batch loss.

    An episode of several turns is one sequence, of which each row holds a turn.

    Args:
        token_counts: (S,), response tokens of each row of the whole batch.
        episodes: (S,), integers in [0, E): the episode of each row.
        normalization: "sequence": mean over episodes of the mean over an episode's tokens;
            "token": mean over all tokens; "constant": sum over tokens by ``constant``, mean over
            episodes.
        num_episodes: Episodes that count, E or fewer.
        constant: The divisor of "constant", in tokens.

    Returns:
        (S,), float32.
    """
    counts = token_counts.float()
    if normalization == "constant":
        return torch.full_like(counts, 1.0 / (num_episodes * constant))
    if normalization == "token":
        return torch.full_like(counts, 1.0) / counts.sum().clamp(min=1)
    if normalization != "sequence":
        raise ValueError(
            f"normalization must be one of {get_args(Normalization)}, got {normalization!r}"
        )
    totals = torch.zeros(int(episodes.max()) + 1, device=counts.device)
    totals.index_add_(0, episodes, counts)
    return 1.0 / (num_episodes * totals[episodes].clamp(min=1))


class LossTerms(NamedTuple):
    """A loss and what it was made of.

    Attributes:
        loss: Scalar, to be minimised.
        clipped: (B, T), 1.0 at clipped tokens.
        divergence: (B, T), k3 to the reference; zeros without one.
    """

    loss: torch.Tensor
    clipped: torch.Tensor
    divergence: torch.Tensor


def policy_loss(
    log_probs: torch.Tensor,
    old_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    coefficients: torch.Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    behaviour_log_probs: torch.Tensor | None = None,
    importance_limit: float = 2.0,
    reference_log_probs: torch.Tensor | None = None,
    kl_coef: float = 0.0,
    entropy: torch.Tensor | None = None,
    entropy_coef: float = 0.0,
) -> LossTerms:
    """Sums the token losses of B rows, each times its row's coefficient.

    The sum over all rows is the batch loss, so a batch may be cut into parts whose gradients add.

    Args:
        log_probs: (B, T), of the policy in training.
        old_log_probs: (B, T), before this update.
        advantages: (B,).
        mask: (B, T), 1.0 at response tokens.
        coefficients: (B,), from :func:`row_coefficients`.
        clip_low: See :func:`clipped_objective`.
        clip_high: See :func:`clipped_objective`.
        behaviour_log_probs: (B, T), of the policy that sampled; None: it was the old one.
        importance_limit: Where importance weights are cut.
        reference_log_probs: (B, T), of the frozen reference; None: no KL term.
        kl_coef: Factor of the KL term.
        entropy: (B, T), differentiable; None: no entropy bonus.
        entropy_coef: Factor of the entropy bonus.
    """
    objective, clipped = clipped_objective(
        log_probs, old_log_probs, advantages, clip_low=clip_low, clip_high=clip_high
    )
    if behaviour_log_probs is not None:
        weights = truncated_importance_weights(old_log_probs, behaviour_log_probs, importance_limit)
        objective = objective * weights
    divergence = torch.zeros_like(objective)
    if reference_log_probs is not None:
        divergence = k3_divergence(log_probs, reference_log_probs)
        objective = objective - kl_coef * divergence
    if entropy is not None:
        objective = objective + entropy_coef * entropy
    loss = -((objective * mask).sum(dim=1) * coefficients).sum()
    return LossTerms(loss, clipped * mask, divergence.detach() * mask)
