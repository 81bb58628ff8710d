"""A causal language model that reads what many prompts begin with once.

Programs that answer one task share instructions, examples and the task's text. Their keys and
values are computed once for each task, kept, and handed to every row.
"""

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from wmrl_envs.wrappers.world_models.prompt_tokens import Tokens

__all__ = ["SharedPrefix"]

# A forward pass of so many tokens keeps a processor busy; beyond it, padding is work for nothing.
_ENOUGH, _PADDING = 512, 0.05


class SharedPrefix:
    """Runs rows of tokens that continue a prefix.

    The model's weights must not change while prefixes are kept; see :meth:`forget`.

    Args:
        model: A causal language model of transformers, in evaluation mode when it is used.
        kept: The number of prefixes whose keys and values are kept, the latest used.
        batch_tokens: The most tokens of a batch, its padding and every row's prefix included; a
            single row may have more.
        share: False computes the prefix anew for each row, for models without a key-value cache.

    Raises:
        TypeError: The model has no output embeddings.
        ValueError: ``kept`` or ``batch_tokens`` is not positive.
    """

    def __init__(self, model: Any, kept: int, batch_tokens: int, share: bool = True) -> None:
        for name, value in (("kept", kept), ("batch_tokens", batch_tokens)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        if model.get_output_embeddings() is None:
            raise TypeError(f"model must be a causal language model, got {type(model).__name__}")
        self.model = model
        self._kept, self._batch_tokens, self._share = kept, batch_tokens, share
        self._cache_name = _cache_name(model)
        self._caches: OrderedDict[Tokens, Any] = OrderedDict()

    def forget(self) -> None:
        """Drops all prefixes."""
        self._caches.clear()

    @torch.no_grad()
    def log_probs(
        self, prefix: Tokens, rows: Sequence[Tokens], token_ids: Sequence[int]
    ) -> torch.Tensor:
        """The log-probabilities of some tokens after each row, in one forward pass a batch.

        Args:
            prefix: P token ids, P at least 1.
            rows: N rows of at least one token id each.
            token_ids: L token ids.

        Returns:
            (N, L), float32, on the CPU: in nats, over the whole vocabulary.
        """
        found = torch.empty(len(rows), len(token_ids))
        for batch in self._batches(len(prefix), rows, most_padding=_PADDING):
            logits = self._last_logits(prefix, [rows[i] for i in batch])
            found[batch] = logits.float().log_softmax(dim=-1)[:, list(token_ids)].cpu()
        return found

    @torch.no_grad()
    def generate(
        self,
        prefix: Tokens,
        rows: Sequence[Tokens],
        options: Callable[[Sequence[int]], dict[str, Any]],
    ) -> list[Tokens]:
        """Continues each row with the model's own ``generate``.

        Args:
            prefix: P token ids, P at least 1.
            rows: N rows of at least one token id each.
            options: Makes the keyword arguments of ``generate`` for a batch of row numbers.

        Returns:
            N continuations, with whatever ends or fills them up.
        """
        found: list[Tokens] = [()] * len(rows)
        for batch in self._batches(len(prefix), rows):
            ids, mask = self._padded([rows[i] for i in batch], side="left")
            whole = torch.cat([self._ids(prefix).expand(len(batch), -1), ids], dim=1)
            mask = torch.cat([torch.ones_like(whole[:, : len(prefix)]), mask], dim=1)
            cache = {self._cache_name: self._cache(prefix, len(batch))} if self._share else {}
            out = self.model.generate(whole, attention_mask=mask, **cache, **options(batch))
            for i, row in zip(batch, out[:, whole.shape[1] :].tolist(), strict=True):
                found[i] = tuple(row)
        return found

    def _last_logits(self, prefix: Tokens, rows: Sequence[Tokens]) -> torch.Tensor:
        if not self._share:
            ids, mask = self._padded([prefix + row for row in rows])
            with self._head_at(mask.sum(dim=1) - 1):
                out = self.model(input_ids=ids, attention_mask=mask, use_cache=False)
            return _logits(out)
        ids, mask = self._padded(rows)
        whole = torch.cat([mask.new_ones(len(rows), len(prefix)), mask], dim=1)
        cache = {self._cache_name: self._cache(prefix, len(rows))}
        with self._head_at(mask.sum(dim=1) - 1):
            out = self.model(input_ids=ids, attention_mask=whole, use_cache=True, **cache)
        return _logits(out)

    def _cache(self, prefix: Tokens, rows: int) -> Any:
        """A cache of its own for a batch: the model appends to it in place."""
        cache = copy.deepcopy(self._prefix_cache(prefix))
        cache.batch_repeat_interleave(rows)
        return cache

    def _prefix_cache(self, prefix: Tokens) -> Any:
        if prefix not in self._caches:
            self._caches[prefix] = self._read(prefix)
        self._caches.move_to_end(prefix)
        while len(self._caches) > self._kept:
            self._caches.popitem(last=False)
        return self._caches[prefix]

    def _read(self, prefix: Tokens) -> Any:
        ids = self._ids(prefix)
        with self._head_at(torch.zeros(1, dtype=torch.long, device=ids.device)):
            out = self.model(input_ids=ids, use_cache=True)
        cache = getattr(out, self._cache_name, None)
        if not hasattr(cache, "batch_repeat_interleave"):
            raise TypeError(
                f"{type(self.model).__name__} has no key-value cache to share: "
                "pass share_prefix=False"
            )
        return cache

    @contextmanager
    def _head_at(self, positions: torch.Tensor) -> Iterator[None]:
        """Lets the model's head see one position of each row.

        The head is most of a small model's work. Applying it outside of the model would miss what
        some models do to their logits afterwards, such as a soft cap.
        """

        def picked(module: Any, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            hidden = args[0]
            rows = torch.arange(len(positions), device=hidden.device)
            return (hidden[rows, positions.to(hidden.device)][:, None],)

        hook = self.model.get_output_embeddings().register_forward_pre_hook(picked)
        try:
            yield
        finally:
            hook.remove()

    def _batches(
        self, prefix: int, rows: Sequence[Tokens], most_padding: float = 1.0
    ) -> Iterator[list[int]]:
        """Row numbers by length, as many as the token budget allows and the padding is worth."""
        batch: list[int] = []
        tokens = 0
        for i in sorted(range(len(rows)), key=lambda i: len(rows[i])):
            width, count = len(rows[i]), len(batch) + 1
            padded = tokens >= _ENOUGH and count * width > (1 + most_padding) * (tokens + width)
            if batch and (padded or count * (prefix + width) > self._batch_tokens):
                yield batch
                batch, tokens = [], 0
            batch.append(i)
            tokens += width
        if batch:
            yield batch

    def _ids(self, prefix: Tokens) -> torch.Tensor:
        return torch.tensor([prefix], device=self.model.device)

    def _padded(
        self, rows: Sequence[Tokens], side: str = "right"
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask, (N, T) int64; the mask is 1 at tokens and 0 at padding."""
        stacked = (
            pad_sequence(list(map(torch.tensor, values)), batch_first=True, padding_side=side)
            for values in (rows, [[1] * len(row) for row in rows])
        )
        ids, mask = (tensor.to(self.model.device) for tensor in stacked)
        return ids, mask


def _logits(out: Any) -> torch.Tensor:
    logits: torch.Tensor = out.logits[:, -1]
    return logits


def _cache_name(model: Any) -> str:
    """The name of the key-value cache's argument, which transformers changed in 5.x."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
