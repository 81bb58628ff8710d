"""Batched sampling from a causal language model, with the log-probability of every token drawn.

``generate`` of transformers pads finished rows to the end of the slowest one and does not hand back
the log-probabilities. Here finished rows leave the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from wmrl_envs.agents.policies.decoder import Decoder
from wmrl_envs.agents.policies.prompts import Tokens

__all__ = ["SamplingSettings", "draw", "nucleus", "sample"]


@dataclass(frozen=True)
class SamplingSettings:
    """How tokens are drawn.

    Attributes:
        max_new_tokens: The longest response, in tokens.
        stop_ids: Token ids that end a response; they are part of it.
        temperature: Divides the logits.
        top_p: The nucleus: the fewest tokens whose probabilities reach this sum (1.0: all).
        deterministic: Take the likeliest token instead of drawing one.
    """

    max_new_tokens: int
    stop_ids: Tokens
    temperature: float = 1.0
    top_p: float = 1.0
    deterministic: bool = False


@torch.no_grad()
def sample(
    model: Any,
    prompts: Sequence[Tokens],
    settings: SamplingSettings,
    generator: torch.Generator | None = None,
) -> tuple[list[Tokens], list[tuple[float, ...]]]:
    """Samples one response a prompt.

    Args:
        model: A causal language model of transformers, in evaluation mode.
        prompts: B prompts of at least one token each.
        settings: How tokens are drawn.
        generator: The source of randomness, on the model's device.

    Returns:
        B responses, and B tuples with the log-probability of each of their tokens under the
        distribution that it was drawn from.
    """
    decoder = Decoder(model, prompts)
    rows = torch.arange(len(prompts), device=model.device)
    stops = torch.tensor(settings.stop_ids, device=model.device)
    drawn: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    for _ in range(settings.max_new_tokens):
        tokens, log_probs = draw(decoder.logits, settings, generator)
        drawn.append((rows, tokens, log_probs))
        going = ~torch.isin(tokens, stops)
        if not going.all():
            keep = going.nonzero()[:, 0]
            rows, tokens = rows[keep], tokens[keep]
            decoder.select(keep)
        if not len(rows) or len(drawn) == settings.max_new_tokens:
            break
        decoder.append(tokens[:, None])
    return _gather(drawn, len(prompts))


def nucleus(log_probs: torch.Tensor, top_p: float) -> torch.Tensor:
    """Keeps the fewest tokens whose probabilities reach ``top_p`` and renormalises them.

    Args:
        log_probs: (B, V), log-probabilities.
        top_p: The sum to reach, in (0, 1].

    Returns:
        (B, V), log-probabilities; ``-inf`` outside the nucleus.
    """
    ordered, order = log_probs.sort(dim=-1, descending=True)
    before = ordered.exp().cumsum(dim=-1) - ordered.exp()
    ordered = ordered.masked_fill(before >= top_p, -torch.inf)
    kept = torch.empty_like(ordered).scatter_(-1, order, ordered)
    return kept.log_softmax(dim=-1)


def draw(
    logits: torch.Tensor, settings: SamplingSettings, generator: torch.Generator | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draws one token a row.

    Args:
        logits: (B, V).
        settings: How.
        generator: The source of randomness, on the logits' device.

    Returns:
        (B,) columns of the logits, and (B,) their log-probabilities as they were drawn.
    """
    log_probs = (logits / settings.temperature).log_softmax(dim=-1)
    if settings.top_p < 1:
        log_probs = nucleus(log_probs, settings.top_p)
    if settings.deterministic:
        tokens = log_probs.argmax(dim=-1, keepdim=True)
    else:
        tokens = _invert(log_probs, generator)
    return tokens[:, 0], log_probs.gather(-1, tokens)[:, 0]


def _invert(log_probs: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Draws by inverting the distribution function: faster than ``multinomial`` on CPU."""
    cumulative = log_probs.exp().cumsum(dim=-1, dtype=torch.float64)
    total = cumulative[:, -1:]
    uniform = torch.rand(total.shape, generator=generator, dtype=total.dtype, device=total.device)
    tokens = torch.searchsorted(cumulative, uniform * total, right=True)
    return tokens.clamp(max=log_probs.shape[-1] - 1)


def _gather(
    drawn: Sequence[tuple[torch.Tensor, torch.Tensor, torch.Tensor]], count: int
) -> tuple[list[Tokens], list[tuple[float, ...]]]:
    responses: list[list[int]] = [[] for _ in range(count)]
    log_probs: list[list[float]] = [[] for _ in range(count)]
    for columns in drawn:
        for row, token, log_prob in zip(*(c.tolist() for c in columns), strict=True):
            responses[row].append(token)
            log_probs[row].append(log_prob)
    return [tuple(r) for r in responses], [tuple(p) for p in log_probs]
