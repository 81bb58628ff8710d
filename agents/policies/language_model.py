"""A policy on any causal language model of transformers: observations in, text out."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch

from wmrl_envs.agents.policies.adapters import load_model, load_weights, twin, weights
from wmrl_envs.agents.policies.base import TokenBatch, TokenLogProbs
from wmrl_envs.agents.policies.decoder import Decoder
from wmrl_envs.agents.policies.padding import padded
from wmrl_envs.agents.policies.prompts import Prompt, PromptEncoder, Tokens
from wmrl_envs.agents.policies.recomputing import check_recomputable, response_logits
from wmrl_envs.agents.policies.sampling import SamplingSettings, sample

__all__ = ["LanguageModelPolicy"]

_SETTINGS_FILE = "policy.json"
_Policy = TypeVar("_Policy", bound="LanguageModelPolicy")


class LanguageModelPolicy:
    """Writes actions with a causal language model, or a PEFT model around one.

    The model stays in evaluation mode: dropout would make the log-probabilities of the update
    differ from those of the rollout.

    Args:
        model: A causal language model of transformers.
        tokenizer: Its tokenizer.
        prompt: Maps one observation to the prompt's text or token ids. None: the chat template if
            the tokenizer has one, else the observation's text
            (:class:`~wmrl_envs.agents.policies.prompts.PromptEncoder`).
        max_new_tokens: The longest answer, in tokens.
        max_prompt_tokens: The longest prompt; None: what the model's context leaves, if it has one.
        temperature: Divides the logits, in sampling and in :meth:`log_probs`.
        top_p: Nucleus sampling; 1.0 draws from the whole distribution.
        stop_ids: Tokens that end an answer; None: the end-of-sequence tokens of the tokenizer and
            of the model's generation configuration.
        sampling_batch_size: The most rows sampled at once; None: all.
        action: Makes the environment's action of an observation and the answer's text; None: the
            text itself.
        gradient_checkpointing: Compute each layer twice in training, which needs the memory of one
            layer at a time.

    Raises:
        ValueError: A setting is out of range, or there is no stop token.

    Example:
        >>> policy = LanguageModelPolicy.from_pretrained("org/model")  # doctest: +SKIP
        >>> policy.act([{"task": "Write a script.", "feedback": ""}]).actions  # doctest: +SKIP
    """

    _STORED: ClassVar[tuple[str, ...]] = (
        "max_new_tokens",
        "max_prompt_tokens",
        "temperature",
        "top_p",
        "stop_ids",
    )

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        prompt: Prompt | None = None,
        max_new_tokens: int = 512,
        max_prompt_tokens: int | None = None,
        temperature: float = 1.0,
        top_p: float = 1.0,
        stop_ids: Sequence[int] | None = None,
        sampling_batch_size: int | None = None,
        action: Callable[[Any, str], Any] | None = None,
        gradient_checkpointing: bool = False,
    ) -> None:
        _check(max_new_tokens, temperature, top_p, sampling_batch_size)
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.prompt = prompt
        self.max_new_tokens = max_new_tokens
        self.max_prompt_tokens = _prompt_room(model, max_new_tokens, max_prompt_tokens)
        self.temperature = float(temperature)
        self.top_p = float(top_p)
        self.stop_ids = _stop_ids(model, tokenizer) if stop_ids is None else tuple(stop_ids)
        if not self.stop_ids:
            raise ValueError("stop_ids is empty: neither tokenizer nor model has an end token")
        self.sampling_batch_size = sampling_batch_size
        self.action = action
        if gradient_checkpointing:
            check_recomputable(model)
        self.gradient_checkpointing = gradient_checkpointing
        self._encode: Callable[[Any], Tokens] = PromptEncoder(
            tokenizer, prompt, self.max_prompt_tokens
        )

    @classmethod
    def from_pretrained(
        cls: type[_Policy],
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        dtype: torch.dtype | str = torch.float32,
        device: torch.device | str | None = None,
        model_kwargs: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> _Policy:
        """Loads model and tokenizer from a folder or from the Hugging Face Hub.

        A folder with a PEFT adapter gives a PEFT model whose adapter can be trained further.

        Args:
            name_or_path: A folder with ``config.json``, or a Hub id such as "org/model".
            revision: The Hub's branch, tag or commit.
            dtype: The weights' type; "auto" takes the stored one.
            device: Where the model goes.
            model_kwargs: Further arguments of ``AutoModelForCausalLM.from_pretrained``.
            **settings: Arguments of this class.

        Raises:
            OSError: It is neither a local model nor reachable on the Hub.
        """
        from transformers import AutoTokenizer

        source = str(name_or_path)
        try:
            tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
            model: Any = load_model(source, revision=revision, dtype=dtype, **(model_kwargs or {}))
        except OSError as error:
            raise OSError(
                f"cannot load a language model from {source!r}: it is neither a local folder with "
                f"a model nor reachable on the Hugging Face Hub ({error})"
            ) from error
        return cls(model.to(device) if device is not None else model, tokenizer, **settings)

    @classmethod
    def load(
        cls: type[_Policy], path: str | Path, *, prompt: Prompt | None = None, **settings: Any
    ) -> _Policy:
        """Loads a policy that :meth:`save` wrote, with its settings; ``settings`` override them.

        Callables (``prompt``, ``action``) are not stored: pass those that the policy was made with.
        """
        stored = json.loads((Path(path) / _SETTINGS_FILE).read_text(encoding="utf-8"))
        return cls.from_pretrained(path, prompt=prompt, **{**stored, **settings})

    def save(self, path: str | Path) -> None:
        """Writes model, tokenizer and settings to a folder that transformers can load as well."""
        self.model.save_pretrained(path)
        self.tokenizer.save_pretrained(path)
        text = json.dumps({name: getattr(self, name) for name in self._STORED}, indent=2)
        (Path(path) / _SETTINGS_FILE).write_text(text + "\n", encoding="utf-8")

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return torch.device(self.model.device)

    @property
    def max_response_tokens(self) -> int:
        """The longest answer, in tokens."""
        return self.max_new_tokens

    def act(
        self,
        observations: Sequence[Any],
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
    ) -> TokenBatch:
        """Writes one answer for each of B observations.

        Args:
            observations: B single observations.
            generator: The source of randomness, on the model's device.
            deterministic: Take the likeliest token each time.

        Returns:
            The actions (texts, special tokens left out), their tokens and log-probabilities.
        """
        settings = SamplingSettings(
            self.max_new_tokens, self.stop_ids, self.temperature, self.top_p, deterministic
        )
        prompts = [self._encode(observation) for observation in observations]
        size = self.sampling_batch_size or max(len(prompts), 1)
        batch = TokenBatch()
        for start in range(0, len(prompts), size):
            part = prompts[start : start + size]
            responses, log_probs = sample(self.model, part, settings, generator)
            batch.extend(TokenBatch(self._decode(responses), part, responses, log_probs))
        if self.action is not None:
            batch.actions = list(map(self.action, observations, batch.actions))
        return batch

    def log_probs(self, batch: TokenBatch, *, entropy: bool = False) -> TokenLogProbs:
        """Recomputes the log-probabilities of a batch's answers at the policy's temperature.

        The nucleus is not applied: gradients flow through the whole distribution.

        Args:
            batch: B samples.
            entropy: Return the entropies as well.

        Returns:
            (B, T) tensors, T being the longest answer.
        """
        ids, present = padded(batch.responses, torch.long, self.device)
        mask = present.float()
        parts = [self._score(*part, entropy) for part in self._logits(batch, ids)]
        chosen, nats = (torch.cat(column, dim=1) * mask for column in zip(*parts, strict=True))
        return TokenLogProbs(chosen, mask, nats if entropy else None)

    def _logits(
        self, batch: TokenBatch, ids: torch.Tensor
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yields (B, t, V) logits with the (B, t) tokens that were drawn from them."""
        if self.gradient_checkpointing:
            yield response_logits(self.model, batch.prompts, batch.responses), ids
            return
        decoder = Decoder(self.model, batch.prompts)
        yield decoder.logits[:, None], ids[:, :1]
        if ids.shape[1] > 1:
            yield decoder.append(ids[:, :-1]), ids[:, 1:]

    def _score(
        self, logits: torch.Tensor, targets: torch.Tensor, entropy: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns log-probabilities of the targets and entropies (zeros unless asked), (B, T)."""
        log_softmax = (logits / self.temperature).log_softmax(dim=-1)
        chosen = log_softmax.gather(-1, targets[..., None])[..., 0]
        if not entropy:
            return chosen, torch.zeros_like(chosen)
        return chosen, -(log_softmax.exp() * log_softmax).sum(dim=-1)

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Yields the parameters that require gradients."""
        return (p for p in self.model.parameters() if p.requires_grad)

    def state_dict(self) -> dict[str, Any]:
        """Returns the model's weights by name, of a PEFT model the adapter's alone."""
        return weights(self.model)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over the weights of an equal architecture."""
        load_weights(self.model, state)

    def frozen_copy(self) -> "LanguageModelPolicy":
        """Returns a copy that no gradient reaches; with PEFT the backbone stays shared."""
        frozen = copy.copy(self)
        frozen.model = twin(self.model).eval().requires_grad_(False)
        return frozen

    def _decode(self, responses: Sequence[tuple[int, ...]]) -> list[str]:
        texts = [r[:-1] if r and r[-1] in self.stop_ids else r for r in responses]
        return list(
            self.tokenizer.batch_decode(
                [list(t) for t in texts],
                skip_special_tokens=True,
                clean_up_tokenization_spaces=False,
            )
        )


def _stop_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    found = configured if isinstance(configured, (list, tuple)) else [configured]
    return tuple(dict.fromkeys(i for i in [tokenizer.eos_token_id, *found] if i is not None))


def _prompt_room(model: Any, max_new_tokens: int, asked: int | None) -> int | None:
    if asked is not None and asked < 1:
        raise ValueError(f"max_prompt_tokens must be >= 1, got {asked!r}")
    context: int | None = getattr(model.config, "max_position_embeddings", None)
    if context is None:
        return asked
    if max_new_tokens >= context:
        raise ValueError(
            f"max_new_tokens must be less than the model's context of {context} tokens, "
            f"got {max_new_tokens!r}"
        )
    return min(asked or context, context - max_new_tokens)


def _check(
    max_new_tokens: int, temperature: float, top_p: float, sampling_batch_size: int | None
) -> None:
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be >= 1, got {max_new_tokens!r}")
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature must be > 0 and finite, got {temperature!r}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {top_p!r}")
    if sampling_batch_size is not None and sampling_batch_size < 1:
        raise ValueError(f"sampling_batch_size must be >= 1 or None, got {sampling_batch_size!r}")
