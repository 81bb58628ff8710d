"""How a language model writes a structured outcome: reproducibly, and no further than its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Generation", "JsonEnd"]


@dataclass(frozen=True)
class Generation:
    """Settings of a generated answer.

    Attributes:
        max_new_tokens: The longest answer, in tokens.
        min_new_tokens: The shortest.
        temperature: Divides the logits; 0.0 takes the likeliest token each time.
        top_p: Nucleus sampling; 1.0 draws from the whole distribution.
        seed: With a temperature: equal seeds draw equal answers to equal prompts, whatever else is
            in their batch.

    Raises:
        ValueError: A setting is out of range.
    """

    max_new_tokens: int = 256
    min_new_tokens: int = 0
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the settings."""
        if not 0 <= self.min_new_tokens <= self.max_new_tokens or self.max_new_tokens < 1:
            raise ValueError(
                "need 0 <= min_new_tokens <= max_new_tokens and max_new_tokens >= 1, got "
                f"{self.min_new_tokens!r} and {self.max_new_tokens!r}"
            )
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be >= 0 and finite, got {self.temperature!r}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p!r}")

    def options(self, model: Any, tokenizer: Any, seeds: Sequence[int]) -> dict[str, Any]:
        """Keyword arguments of ``generate`` for a batch.

        The model's own generation settings are left aside, except for its end tokens: they are
        tuned for chat.

        Args:
            model: The model that will generate.
            tokenizer: Its tokenizer.
            seeds: One seed a row.
        """
        from transformers import GenerationConfig, LogitsProcessorList

        ends = _end_ids(model, tokenizer)
        config = GenerationConfig(
            do_sample=False,
            max_new_tokens=self.max_new_tokens,
            min_new_tokens=self.min_new_tokens,
            eos_token_id=list(ends) or None,
            pad_token_id=tokenizer.pad_token_id or (ends[0] if ends else 0),
        )
        stop = [] if self.min_new_tokens else [JsonEnd(tokenizer, len(seeds))]
        noise = LogitsProcessorList(self._processors(seeds))
        return {"generation_config": config, "logits_processor": noise, "stopping_criteria": stop}

    def _processors(self, seeds: Sequence[int]) -> list[Any]:
        from transformers import TemperatureLogitsWarper, TopPLogitsWarper

        if self.temperature == 0:
            return []
        nucleus = [TopPLogitsWarper(self.top_p)] if self.top_p < 1 else []
        return [TemperatureLogitsWarper(float(self.temperature)), *nucleus, _RowNoise(seeds)]


class _RowNoise:
    """Makes taking the likeliest token a draw: Gumbel noise on the logits, of a stream a row."""

    def __init__(self, seeds: Sequence[int]) -> None:
        import torch

        self._streams = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Returns the scores (B, V) with noise."""
        import torch

        drawn = [torch.rand(scores.shape[1], generator=stream) for stream in self._streams]
        # 1e-20: a uniform number may be 0.
        noise = -torch.log(-torch.log(torch.stack(drawn) + 1e-20) + 1e-20)
        return scores.float() + noise.to(scores.device)


class JsonEnd:
    """Ends each row with the bracket that closes its first JSON object.

    Args:
        tokenizer: Decodes the tokens.
        rows: The number of rows.
    """

    def __init__(self, tokenizer: Any, rows: int) -> None:
        self._tokenizer = tokenizer
        self._scanners = [_Scanner() for _ in range(rows)]

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        """Returns a bool a row, (B,): whether its object is closed."""
        import torch

        texts = self._tokenizer.batch_decode(input_ids[:, -1:].tolist())
        done = [scanner.read(text) for scanner, text in zip(self._scanners, texts, strict=True)]
        return torch.tensor(done, device=input_ids.device)


class _Scanner:
    """Follows the brackets of a JSON text, those in strings left aside."""

    def __init__(self) -> None:
        self._depth = 0
        self._closed = self._in_string = self._escaped = False

    def read(self, text: str) -> bool:
        """Takes the next characters; True once the first object is closed."""
        for character in text:
            self._read(character)
        return self._closed

    def _read(self, character: str) -> None:
        if self._in_string:
            ends = character == '"' and not self._escaped
            self._escaped = character == "\\" and not self._escaped
            self._in_string = not ends
        elif character == '"':
            self._in_string = self._depth > 0
        elif character in "{}":
            self._closed |= character == "}" and self._depth == 1
            self._depth = max(self._depth + (1 if character == "{" else -1), 0)


def _end_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    found = configured if isinstance(configured, (list, tuple)) else [configured]
    return tuple(dict.fromkeys(i for i in [tokenizer.eos_token_id, *found] if i is not None))
