"""A causal language model with its key-value cache, through which each distinct prompt passes once.

The samples of a GRPO group share their prompt. Its keys and values are computed once and handed to
every row, in sampling and, gradients included, in scoring: with eight answers to a prompt that is
three times as long as an answer, about a third of the work remains.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from wmrl_envs.agents.policies.adapters import backbone
from wmrl_envs.agents.policies.padding import padded
from wmrl_envs.agents.policies.prompts import Tokens

__all__ = ["Decoder", "cache_name"]


class Decoder:
    """The state of B rows of text, each a prompt and what was appended to it.

    Args:
        model: A causal language model of transformers.
        prompts: B prompts of at least one token each.

    Attributes:
        logits: (B, V), float32, of the token that follows.
    """

    logits: torch.Tensor

    def __init__(self, model: Any, prompts: Sequence[Tokens]) -> None:
        self._model = model
        self._cache_name = cache_name(model)
        self._cache: Any = None
        unique = {prompt: i for i, prompt in enumerate(dict.fromkeys(prompts))}
        ids, present = padded(list(unique), torch.long, model.device, side="left")
        mask = present.long()
        self._mask = None if bool(present.all()) else mask
        self._positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        self.logits = self._forward(ids, keep=1)[:, -1]
        self.select(torch.tensor([unique[p] for p in prompts], device=model.device))

    def append(self, tokens: torch.Tensor) -> torch.Tensor:
        """Appends tokens to every row.

        Args:
            tokens: (B, T), T at least 1.

        Returns:
            (B, T, V), float32: the logits after each of them.
        """
        steps = torch.arange(1, tokens.shape[1] + 1, device=tokens.device)
        self._positions = self._positions[:, -1:] + steps
        if self._mask is not None:
            self._mask = torch.cat([self._mask, torch.ones_like(tokens)], dim=1)
        logits = self._forward(tokens, keep=0)
        self.logits = logits[:, -1]
        return logits

    def select(self, rows: torch.Tensor) -> None:
        """Goes on with the given rows, which may repeat."""
        self._cache.batch_select_indices(rows)
        self._positions = self._positions[rows]
        self.logits = self.logits[rows]
        if self._mask is not None:
            self._mask = self._mask[rows]

    def _forward(self, ids: torch.Tensor, keep: int) -> torch.Tensor:
        cache = {} if self._cache is None else {self._cache_name: self._cache}
        out = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=self._positions,
            use_cache=True,
            logits_to_keep=keep,
            **cache,
        )
        self._cache = getattr(out, self._cache_name)
        logits: torch.Tensor = out.logits.float()
        return logits


def cache_name(model: Any) -> str:
    """Returns the name of the key-value cache's argument, which transformers changed in 5.x."""
    parameters = inspect.signature(backbone(model).forward).parameters
    return "cache" if "cache" in parameters else "past_key_values"
