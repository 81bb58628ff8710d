"""A policy on any vision-language-action network: observations in, chunks of actions out."""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.distributions import Categorical

from wmrl_envs.agents.policies.base import TokenBatch, TokenLogProbs
from wmrl_envs.agents.policies.sampling import SamplingSettings, draw
from wmrl_envs.agents.policies.vla.base import VLAModel

__all__ = ["VLAPolicy", "teacher_forced"]

_SETTINGS_FILE = "policy.json"


class VLAPolicy:
    """Moves a robot with a network that emits action tokens one after the other.

    An action of the environment, ``(chunk, 7)`` numbers, is as many tokens. The model stays in
    evaluation mode: dropout would make the log-probabilities of the update differ from those of
    the rollout.

    Args:
        model: The network, such as :class:`~wmrl_envs.agents.policies.vla.tiny.TinyVLA`.
        temperature: Divides the logits, in sampling and in :meth:`log_probs`.

    Raises:
        ValueError: The temperature is not positive and finite.

    Example:
        >>> from wmrl_envs.agents.policies.vla.tiny import TinyVLA, TinyVLAConfig
        >>> policy = VLAPolicy(TinyVLA(TinyVLAConfig(observation="pixels", action_chunk=2)))
        >>> image = np.zeros((64, 64, 3), np.uint8)
        >>> batch = policy.act([{"task": "open the drawer", "agentview_image": image}])
        >>> batch.actions[0].shape, len(batch.responses[0])
        ((2, 7), 14)
    """

    def __init__(self, model: VLAModel, *, temperature: float = 1.0) -> None:
        if not 0 < temperature < float("inf"):
            raise ValueError(f"temperature must be > 0 and finite, got {temperature!r}")
        self.model = model
        self.model.eval()
        self.temperature = float(temperature)

    @classmethod
    def load(cls, path: str | Path, *, model_class: Any = None, **settings: Any) -> "VLAPolicy":
        """Loads a policy that :meth:`save` wrote, with its settings; ``settings`` override them.

        Args:
            path: The folder.
            model_class: What has ``from_pretrained``; None: ``TinyVLA``.
            **settings: Arguments of this class.

        Raises:
            FileNotFoundError: The folder lacks a file.
        """
        if model_class is None:
            from wmrl_envs.agents.policies.vla.tiny import TinyVLA as model_class  # noqa: N813
        stored = json.loads((Path(path) / _SETTINGS_FILE).read_text(encoding="utf-8"))
        return cls(model_class.from_pretrained(path), **{**stored, **settings})

    def save(self, path: str | Path) -> None:
        """Writes configuration and weights, as the model has them, and the policy's settings."""
        Path(path).mkdir(parents=True, exist_ok=True)
        self.model.save_pretrained(path)
        text = json.dumps({"temperature": self.temperature}, indent=2)
        (Path(path) / _SETTINGS_FILE).write_text(text + "\n", encoding="utf-8")

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return self.model.device

    @property
    def max_response_tokens(self) -> int:
        """The tokens of one action; every response has as many."""
        return int(np.prod(self.model.action_shape))

    @torch.no_grad()
    def act(
        self,
        observations: Sequence[Any],
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
    ) -> TokenBatch:
        """Chooses one action for each of B observations.

        Args:
            observations: B single observations.
            generator: The source of randomness, on the model's device.
            deterministic: Take the likeliest token each time.

        Returns:
            Actions (chunk, 7), float32, with their tokens, log-probabilities and what the network
            saw.
        """
        if not len(observations):
            return TokenBatch()
        prompts, contexts = zip(*map(self.model.encode, observations), strict=True)
        tokens, log_probs = self._sample(prompts, contexts, generator, deterministic)
        shape = (len(tokens), *self.model.action_shape)
        values = self.model.action_tokenizer.decode(tokens.cpu().numpy()).reshape(shape)
        return TokenBatch(
            actions=list(self.model.to_actions(values)),
            prompts=list(prompts),
            responses=[tuple(row) for row in tokens.tolist()],
            log_probs=[tuple(row) for row in log_probs.tolist()],
            contexts=list(contexts),
        )

    def log_probs(self, batch: TokenBatch, *, entropy: bool = False) -> TokenLogProbs:
        """Recomputes the log-probabilities of a batch's action tokens at the policy's temperature.

        Args:
            batch: B samples, B at least 1.
            entropy: Return the entropies as well.

        Returns:
            (B, T) tensors, T being the tokens of an action.
        """
        tokens = torch.tensor(batch.responses, dtype=torch.long, device=self.device)
        logits = teacher_forced(self.model, batch.prompts, batch.contexts, tokens)
        bins = Categorical(logits=logits / self.temperature, validate_args=False)
        chosen = bins.log_prob(self.model.action_tokenizer.columns(tokens))
        return TokenLogProbs(chosen, torch.ones_like(chosen), bins.entropy() if entropy else None)

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Yields the parameters that require gradients."""
        return (p for p in self.model.parameters() if p.requires_grad)

    def state_dict(self) -> dict[str, Any]:
        """Returns the model's weights by name."""
        return dict(self.model.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over the weights of an equal architecture."""
        self.model.load_state_dict(state)

    def frozen_copy(self) -> "VLAPolicy":
        """Returns a copy with its own weights, which no gradient reaches."""
        twin = copy.copy(self)
        twin.model = copy.deepcopy(self.model)
        twin.model.requires_grad_(False)
        return twin

    def _sample(
        self,
        prompts: Sequence[tuple[int, ...]],
        contexts: Sequence[Any],
        generator: torch.Generator | None,
        deterministic: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Draws (B, T) tokens; returns them with their log-probabilities."""
        count = self.max_response_tokens
        settings = SamplingSettings(count, (), self.temperature, deterministic=deterministic)
        decoding = self.model.start(prompts, contexts)
        drawn: list[tuple[torch.Tensor, torch.Tensor]] = []
        for left in reversed(range(count)):
            columns, log_probs = draw(decoding.logits, settings, generator)
            drawn.append((self.model.action_tokenizer.tokens(columns), log_probs))
            if left:
                decoding.append(drawn[-1][0][:, None])
        tokens, chosen = (torch.stack(column, dim=1) for column in zip(*drawn, strict=True))
        return tokens, chosen


def teacher_forced(
    model: VLAModel,
    prompts: Sequence[tuple[int, ...]],
    contexts: Sequence[Any],
    tokens: torch.Tensor,
) -> torch.Tensor:
    """Returns the logits at each token of given responses, with gradients.

    Args:
        model: The network.
        prompts: B prompts.
        contexts: B contexts.
        tokens: (B, T), int64, the responses.

    Returns:
        (B, T, bins), float32.
    """
    decoding = model.start(prompts, contexts)
    first = decoding.logits[:, None]
    if tokens.shape[1] == 1:
        return first
    return torch.cat([first, decoding.append(tokens[:, :-1])], dim=1)
