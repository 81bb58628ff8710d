"""What a policy is to the learners: something that emits tokens and can say how likely they were.

Whether the tokens spell text or are bins of a robot's action is the policy's own affair; language
models and vision-language-action models differ in nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch

__all__ = ["TokenBatch", "TokenLogProbs", "TokenPolicy"]


@dataclass
class TokenBatch:
    """B samples: what the policy saw, what it emitted, and how likely that was.

    Attributes:
        actions: B actions, each as the environment's ``single_action_space`` wants it.
        prompts: B tuples of prompt token ids.
        responses: B tuples of sampled token ids, a stop token included.
        log_probs: B tuples: the log-probability of each response token under the very distribution
            that it was drawn from (temperature and nucleus included).
        contexts: B further inputs that are no tokens (images of a VLA), None for text.
    """

    actions: list[Any] = field(default_factory=list)
    prompts: list[tuple[int, ...]] = field(default_factory=list)
    responses: list[tuple[int, ...]] = field(default_factory=list)
    log_probs: list[tuple[float, ...]] = field(default_factory=list)
    contexts: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Fills absent contexts and checks that the columns have one length."""
        self.contexts = self.contexts or [None] * len(self.actions)
        lengths = {name: len(column) for name, column in vars(self).items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"TokenBatch columns must have equal lengths, got {lengths}")

    def __len__(self) -> int:
        """Returns the number of samples, B."""
        return len(self.actions)

    def select(self, rows: Sequence[int]) -> "TokenBatch":
        """Returns the given rows, in the given order."""
        return TokenBatch(*([column[i] for i in rows] for column in vars(self).values()))

    def extend(self, other: "TokenBatch") -> None:
        """Appends another batch's samples."""
        for name, column in vars(self).items():
            column.extend(getattr(other, name))


class TokenLogProbs(NamedTuple):
    """Log-probabilities of the response tokens of B samples, padded to the longest, T.

    Attributes:
        log_probs: (B, T), float32, differentiable; 0.0 at padding.
        mask: (B, T), float32, 1.0 at response tokens.
        entropy: (B, T), nats, the entropy of the distribution at each response token; None unless
            it was asked for.
    """

    log_probs: torch.Tensor
    mask: torch.Tensor
    entropy: torch.Tensor | None = None


@runtime_checkable
class TokenPolicy(Protocol):
    """A policy over token sequences, as :class:`~wmrl_envs.agents.grpo.GRPO` uses it."""

    @property
    def device(self) -> torch.device:
        """The device that the parameters and the generator live on."""
        ...

    @property
    def max_response_tokens(self) -> int:
        """The longest response, in tokens."""
        ...

    def act(
        self,
        observations: Sequence[Any],
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
    ) -> TokenBatch:
        """Samples one action for each of B single (unbatched) observations.

        Args:
            observations: B observations of the single observation space.
            generator: The source of randomness, on the policy's device.
            deterministic: Take the likeliest token each time.
        """
        ...

    def log_probs(self, batch: TokenBatch, *, entropy: bool = False) -> TokenLogProbs:
        """Recomputes the log-probabilities of a batch's responses, with gradients."""
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Yields the parameters to train."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Returns the weights by name."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> Any:
        """Takes over weights that :meth:`state_dict` returned."""
        ...

    def frozen_copy(self) -> "TokenPolicy":
        """Returns an independent copy that no gradient reaches: the KL reference."""
        ...

    def save(self, path: str | Path) -> None:
        """Writes the policy to a folder from which it can be used without this package."""
        ...
