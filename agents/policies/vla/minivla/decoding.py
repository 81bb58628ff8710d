"""A MiniVLA in the midst of writing action tokens."""

import torch
from torch.nn import functional as F
from transformers import DynamicCache

from wmrl_envs.agents.policies.vla.minivla.adapters import base_of
from wmrl_envs.agents.policies.vla.minivla.network import MiniVLANetwork

__all__ = ["MiniVLADecoding"]


class MiniVLADecoding:
    """B rows: pictures and prompts, and the action tokens appended to them.

    Scores are computed for the action tokens alone, a 600th of the vocabulary: what a policy over
    actions never emits takes no share of its probability.

    Args:
        network: The network.
        embeddings: (B, L, D), the rows as :meth:`MiniVLANetwork.embed` makes them.
        mask: (B, L), 1 where a row has a token.
        columns: (bins,), the token ids whose scores are wanted, in their order.

    Attributes:
        logits: (B, bins), float32, of the token that follows.
    """

    logits: torch.Tensor

    def __init__(
        self,
        network: MiniVLANetwork,
        embeddings: torch.Tensor,
        mask: torch.Tensor,
        columns: torch.Tensor,
    ) -> None:
        self._llm = base_of(network.llm)
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
        logits = self._forward(self._llm.get_input_embeddings()(tokens), keep=0)
        self.logits = logits[:, -1]
        return logits

    def _forward(self, embeddings: torch.Tensor, keep: int) -> torch.Tensor:
        # The cache goes by its place: its name changed in transformers 5.
        seen = self._llm.model(
            None, self._mask, self._positions, self._cache, embeddings, use_cache=True
        )
        hidden = seen.last_hidden_state[:, -keep:]
        return F.linear(hidden, self._llm.lm_head.weight[self._columns]).float()
