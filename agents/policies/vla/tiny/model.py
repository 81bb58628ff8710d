"""The network: instruction, pictures and state are read, action tokens are written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wmrl_envs.agents.policies.decoder import cache_name
from wmrl_envs.agents.policies.vla.action_tokens import ActionTokenizer
from wmrl_envs.agents.policies.vla.base import ModelInput
from wmrl_envs.agents.policies.vla.tiny.config import TinyVLAConfig
from wmrl_envs.agents.policies.vla.tiny.modules import ActionEmbedding, ImageTokens, word_tokens
from wmrl_envs.agents.policies.vla.tiny.state import StateFeatures, state_vector

__all__ = ["TinyVLA"]

_ACTION_SIZE = 7
_BINS = 256
_CONFIG, _WEIGHTS = "config.json", "model.safetensors"
_MODEL_TYPE = "tiny_vla"


class TinyVLA(nn.Module):
    """A causal transformer over words, picture patches, state tokens and action tokens.

    Its body is a small Llama of transformers. The prefix has one length, so that no row is padded;
    each action token's input says which number of the chunk comes next, and holds a summary of what
    is seen. The head knows the 256 action tokens alone.

    Args:
        config: The shapes.

    Attributes:
        config: The shapes.
        action_tokenizer: The arithmetic of the action tokens, which follow the words' tokens.
        action_shape: (7,) if the chunk is 1, else (chunk, 7), as in the environment.

    Example:
        >>> model = TinyVLA(TinyVLAConfig(observation="pixels", action_chunk=2))
        >>> image = np.zeros((64, 64, 3), np.uint8)
        >>> prompt, context = model.encode({"task": "open it", "agentview_image": image})
        >>> model.start([prompt], [context]).logits.shape
        torch.Size([1, 256])
    """

    def __init__(self, config: TinyVLAConfig) -> None:
        super().__init__()
        self.config = config
        self.action_tokenizer = ActionTokenizer(config.instruction_vocabulary + _BINS, _BINS)
        chunk = config.action_chunk
        shape: tuple[int, ...] = (_ACTION_SIZE,)
        self.action_shape = shape if chunk == 1 else (chunk, *shape)
        width = config.width
        self.words = nn.Embedding(config.instruction_vocabulary, width)
        self.cameras = nn.ModuleList(
            ImageTokens(config.image_size, width) for _ in config.cameras if config.sees_pixels
        )
        self.state = StateFeatures(config) if config.sees_state else None
        self.state_tokens = _state_encoder(self.state, config)
        self.actions = ActionEmbedding(self.action_tokenizer, width)
        self.slots = nn.Parameter(torch.randn(chunk * _ACTION_SIZE, width) * 0.1)
        self.glance = nn.Linear(self._seen_tokens * width, width)
        self.body = _body(config)
        self.head = nn.Linear(width, _BINS)

    @classmethod
    def from_pretrained(cls, path: str | Path) -> "TinyVLA":
        """Loads what :meth:`save_pretrained` wrote.

        Raises:
            FileNotFoundError: The folder lacks a file.
            ValueError: The folder holds another kind of network.
        """
        from safetensors.torch import load_file

        stored = json.loads((Path(path) / _CONFIG).read_text(encoding="utf-8"))
        kind = stored.pop("model_type", None)
        if kind != _MODEL_TYPE:
            raise ValueError(f"{path} must hold a {_MODEL_TYPE!r} network, got {kind!r}")
        model = cls(TinyVLAConfig(**stored))
        model.load_state_dict(load_file(Path(path) / _WEIGHTS))
        return model.eval()

    def save_pretrained(self, path: str | Path) -> None:
        """Writes ``config.json`` and ``model.safetensors`` into a folder."""
        from safetensors.torch import save_file

        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"model_type": _MODEL_TYPE, **asdict(self.config)}, indent=2)
        (folder / _CONFIG).write_text(text + "\n", encoding="utf-8")
        save_file({k: v.contiguous() for k, v in self.state_dict().items()}, folder / _WEIGHTS)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.slots.device

    def encode(self, observation: Mapping[str, Any]) -> ModelInput:
        """Hashes the instruction, joins the state, keeps the pictures.

        Args:
            observation: As LIBERO's environment gives it; without `task` no instruction is read.

        Raises:
            ValueError: It lacks an entry, or one has another shape.
        """
        config = self.config
        prompt = word_tokens(
            str(observation.get("task", "")),
            config.instruction_tokens,
            config.instruction_vocabulary,
        )
        context: dict[str, NDArray[Any]] = {}
        if config.sees_pixels:
            context |= {f"{name}_image": self._image(observation, name) for name in config.cameras}
        if config.sees_state:
            context["state"] = state_vector(observation, config)
        return ModelInput(prompt, context)

    def _image(self, observation: Mapping[str, Any], camera: str) -> NDArray[np.uint8]:
        name, side = f"{camera}_image", self.config.image_size
        if name not in observation:
            raise ValueError(f"the observation lacks {name!r}; it has {sorted(observation)}")
        image = np.array(observation[name])  # environments may reuse theirs
        if image.shape != (side, side, 3) or image.dtype != np.uint8:
            raise ValueError(
                f"{name} must be uint8 of shape {(side, side, 3)} (make the environment with "
                f"image_size={side}), got {image.dtype} of shape {image.shape}"
            )
        return image

    def start(
        self, prompts: Sequence[tuple[int, ...]], contexts: Sequence[Mapping[str, NDArray[Any]]]
    ) -> "TinyDecoding":
        """Passes instructions, pictures and states through the network."""
        words = self.words(torch.tensor(prompts, device=self.device))
        seen = self._tokens_seen(words, contexts)
        return TinyDecoding(self, torch.cat([words, seen], dim=1), self.glance(seen.flatten(1)))

    def to_actions(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Actions are the decoded values themselves."""
        return values.astype(np.float32)

    def from_actions(self, actions: NDArray[np.float32]) -> NDArray[np.float64]:
        """Values to be encoded are the actions themselves."""
        return actions.astype(np.float64)

    def fit_statistics(self, contexts: Sequence[Mapping[str, NDArray[Any]]]) -> None:
        """Takes mean and spread of the states from the data that will be cloned."""
        if self.state is not None:
            self.state.fit(np.stack([context["state"] for context in contexts]))

    def _tokens_seen(
        self, words: torch.Tensor, contexts: Sequence[Mapping[str, NDArray[Any]]]
    ) -> torch.Tensor:
        """(B, S, width): what pictures and state become, given (B, W, width) words."""
        parts = []
        for name, camera in zip(self.config.cameras, self.cameras, strict=False):
            parts.append(camera(self._stacked(contexts, f"{name}_image")))
        if self.state is not None and self.state_tokens is not None:
            features = self.state(self._stacked(contexts, "state"))
            told = torch.cat([features, words.mean(dim=1)], dim=1)
            parts.append(self.state_tokens(told).unflatten(1, (self.config.state_tokens, -1)))
        return torch.cat(parts, dim=1)

    @property
    def _seen_tokens(self) -> int:
        images = len(self.cameras) * (self.config.image_size // 16) ** 2
        return images + (self.config.state_tokens if self.config.sees_state else 0)

    def _stacked(self, contexts: Sequence[Mapping[str, Any]], name: str) -> torch.Tensor:
        return torch.from_numpy(np.stack([c[name] for c in contexts])).to(self.device)


class TinyDecoding:
    """Rows in the midst of being decoded, see :class:`~wmrl_envs.agents.policies.vla.base.Decoding`.

    Args:
        model: The network.
        prefix: (B, P, width), words and what is seen, embedded.
        glance: (B, width), added to the input of every action token.
    """  # noqa: E501

    logits: torch.Tensor

    def __init__(self, model: TinyVLA, prefix: torch.Tensor, glance: torch.Tensor) -> None:
        self._model = model
        self._glance = glance[:, None]
        self._cache: Any = None
        self._cache_name = cache_name(model.body)
        self._appended = 0
        first = self._glance + model.slots[0]
        self.logits = self._forward(torch.cat([prefix, first], dim=1))[:, -1]

    def append(self, tokens: torch.Tensor) -> torch.Tensor:
        """Appends (B, T) tokens; returns the (B, T, 256) logits after each of them."""
        first = self._appended + 1
        self._appended += tokens.shape[1]
        slots = self._model.slots[first : self._appended + 1]
        logits = self._forward(self._model.actions(tokens) + slots + self._glance)
        self.logits = logits[:, -1]
        return logits

    def _forward(self, embedded: torch.Tensor) -> torch.Tensor:
        cache = {} if self._cache is None else {self._cache_name: self._cache}
        out = self._model.body(inputs_embeds=embedded, use_cache=True, **cache)
        self._cache = getattr(out, self._cache_name)
        logits: torch.Tensor = self._model.head(out.last_hidden_state)
        return logits


def _state_encoder(features: StateFeatures | None, config: TinyVLAConfig) -> nn.Module | None:
    if features is None:
        return None
    hidden = 4 * config.width
    return nn.Sequential(
        nn.Linear(features.features + config.width, hidden),
        nn.GELU(),
        nn.Linear(hidden, hidden),
        nn.GELU(),
        nn.Linear(hidden, config.state_tokens * config.width),
    )


def _body(config: TinyVLAConfig) -> Any:
    """A Llama without a vocabulary of its own: everything comes embedded."""
    from transformers import LlamaConfig, LlamaModel

    body = LlamaModel(
        LlamaConfig(
            vocab_size=1,
            hidden_size=config.width,
            intermediate_size=2 * config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.heads,
            max_position_embeddings=4096,
            pad_token_id=None,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    body.embed_tokens.requires_grad_(False)  # no token of its own is ever embedded
    return body
