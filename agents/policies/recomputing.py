"""Scoring with gradient checkpointing: a layer's inner values are computed again when needed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from wmrl_envs.agents.policies.padding import padded
from wmrl_envs.agents.policies.prompts import Tokens

__all__ = ["check_recomputable", "response_logits"]


def check_recomputable(model: Any) -> None:
    """Checks that the model consists of layers that can be computed again.

    Raises:
        ValueError: It does not.
    """
    if not _layers(model):
        raise ValueError(
            "gradient_checkpointing must be False: the model has no GradientCheckpointingLayer of "
            f"transformers, got {type(model).__name__}"
        )


def response_logits(
    model: Any, prompts: Sequence[Tokens], responses: Sequence[Tokens]
) -> torch.Tensor:
    """The logits that each response token was drawn from, in one pass without a cache.

    Args:
        model: A causal language model of transformers.
        prompts: B prompts of at least one token each.
        responses: B responses of at most T tokens.

    Returns:
        (B, T, V), float32; meaningless at padding.
    """
    parts = (
        padded(prompts, torch.long, model.device, side="left"),
        padded(responses, torch.long, model.device),
    )
    ids, present = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
    mask = present.long()
    with _recomputed(model):
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(dim=1) - 1).clamp(min=0),
            use_cache=False,
            logits_to_keep=max(map(len, responses)) + 1,
        )
    logits: torch.Tensor = out.logits[:, :-1].float()
    return logits


@contextmanager
def _recomputed(model: Any) -> Iterator[None]:
    """Lets the layers forget their inner values.

    Transformers' own switch wants training mode, in which dropout would change the probabilities.
    """
    layers = _layers(model) if torch.is_grad_enabled() else []
    before = {layer: vars(layer).get("forward") for layer in layers}
    for layer in layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
    try:
        yield
    finally:
        for layer, forward in before.items():
            if forward is None:
                del layer.forward
            else:
                layer.forward = forward


def _layers(model: Any) -> list[Any]:
    from transformers.modeling_layers import GradientCheckpointingLayer

    return [m for m in model.modules() if isinstance(m, GradientCheckpointingLayer)]
