"""A language model in the midst of writing action tokens about what it was shown."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F
from transformers import DynamicCache

from wmrl_envs.agents.policies.vla.pretrained.adapters import base_of

__all__ = ["EmbeddedDecoding", "embedded"]


class EmbeddedDecoding:
    """B rows of embeddings, and the action tokens appended to them.

    Scores are computed for the action tokens alone, a 600th of the vocabulary: what a policy over
    actions never emits takes no share of its probability.

    Args:
        llm: A causal language model of transformers, perhaps within adapters.
        embeddings: (B, L, D), filled up on the left.
        mask: (B, L), 1 where a row has a token.
        columns: (bins,), the token ids whose scores are wanted, in their order.

    Attributes:
        logits: (B, bins), float32, of the token that follows.
    """

    logits: torch.Tensor

    def __init__(
        self, llm: Any, embeddings: torch.Tensor, mask: torch.Tensor, columns: torch.Tensor
    ) -> None:
        self._llm = base_of(llm)
        self._columns = columns
        self._cache = DynamicCache()
        self._mask: torch.Tensor | None = None if bool(mask.all()) else mask
        self._positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        self.logits = self._forward(embeddings, keep=1)[:, -1]

    def append(self, tokens: torch.Tensor) -> torch.Tensor:
        """Appends action tokens to every row.

        Args:
            tokens: (B, T), int64, T at least 1.

        Returns:
            (B, T, bins), float32: the logits after each of them.
        """
        steps = torch.arange(1, tokens.shape[1] + 1, device=tokens.device)
        self._positions = self._positions[:, -1:] + steps
        if self._mask is not None:
            self._mask = torch.cat([self._mask, torch.ones_like(tokens)], dim=1)
        logits = self._forward(self._llm.get_input_embeddings()(tokens), keep=tokens.shape[1])
        self.logits = logits[:, -1]
        return logits

    def _forward(self, embeddings: torch.Tensor, keep: int) -> torch.Tensor:
        # The cache goes by its place: its name changed in transformers 5.
        seen = self._llm.model(
            None, self._mask, self._positions, self._cache, embeddings, use_cache=True
        )
        hidden = seen.last_hidden_state[:, -keep:]
        return F.linear(hidden, self._llm.lm_head.weight[self._columns]).float()


def embedded(
    llm: Any, prompts: Sequence[Sequence[int]], patches: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Embeds prompts with a picture after the first token of each, filled up on the left.

    Args:
        llm: The language model.
        prompts: B prompts of at least one token each.
        patches: (B, P, D), the pictures' patches as the language model takes them.

    Returns:
        (B, L, D) embeddings, and the (B, L) mask, int64, 1 where a row has a token; L is P and the
        longest prompt's length together.
    """
    words, device = llm.get_input_embeddings(), patches.device
    longest = patches.shape[1] + max(len(prompt) for prompt in prompts)
    rows, masks = [], []
    for prompt, seen in zip(prompts, patches, strict=True):
        tokens = words(torch.tensor(prompt, dtype=torch.long, device=device))
        row = torch.cat([tokens[:1], seen, tokens[1:]])
        rows.append(F.pad(row, (0, 0, longest - len(row), 0)))
        masks.append([0] * (longest - len(row)) + [1] * len(row))
    return torch.stack(rows), torch.tensor(masks, device=device)
