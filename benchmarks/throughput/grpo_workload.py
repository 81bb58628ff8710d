"""What both learners of the GRPO comparison are given: model, prompts, reward."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from wmrl_envs.spaces import UnicodeText

__all__ = ["PromptEnv", "Workload", "even_share"]

_RESERVED = ("<pad>", "<eos>", "<unk>")


@dataclass(frozen=True)
class Workload:
    """A GRPO step of so many groups on a random model.

    Args:
        groups: Prompts of a step.
        group_size: Completions of each prompt.
        prompt_tokens: Tokens of a prompt.
        completion_tokens: The longest completion; a random model ends hardly any before.
        vocabulary: Distinct tokens.
        width: The model's hidden size.
        layers: Its layers.
    """

    groups: int = 8
    group_size: int = 8
    prompt_tokens: int = 128
    completion_tokens: int = 64
    vocabulary: int = 8192
    width: int = 128
    layers: int = 4

    @classmethod
    def quick(cls) -> "Workload":
        """A small one."""
        return cls(groups=2, group_size=4, prompt_tokens=32, completion_tokens=16, vocabulary=512)

    @property
    def episodes(self) -> int:
        """Completions of a step."""
        return self.groups * self.group_size

    def prompts(self) -> list[str]:
        """One step's prompts; each step gets them again."""
        words = np.random.default_rng(0).integers(
            len(_RESERVED), self.vocabulary, (self.groups, self.prompt_tokens)
        )
        return [" ".join(f"w{word}" for word in row) for row in words]

    def model(self) -> Any:
        """The model, with the same random weights each time."""
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.width,
            intermediate_size=4 * self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=None,
            eos_token_id=1,
        )
        return LlamaForCausalLM(config)

    def tokenizer(self) -> Any:
        """One token a word."""
        from tokenizers import Tokenizer, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

        words = [*_RESERVED, *(f"w{i}" for i in range(len(_RESERVED), self.vocabulary))]
        model = models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>")
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        pad, end, unknown = _RESERVED
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token=pad, eos_token=end, unk_token=unknown
        )


def even_share(completions: Sequence[str], **_: Any) -> list[float]:
    """The reward: the share of a completion's words whose checksum is even."""
    return [_even_share(completion.split()) for completion in completions]


def _even_share(words: Sequence[str]) -> float:
    return sum(zlib.crc32(word.encode()) % 2 == 0 for word in words) / max(len(words), 1)


class PromptEnv(VectorEnv):
    """Shows a prompt chosen by the reset seed and rewards the answer by :func:`even_share`."""

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012 (Gymnasium's form)

    def __init__(self, prompts: Sequence[str], num_envs: int) -> None:
        self.num_envs = num_envs
        self.single_observation_space = UnicodeText(100_000)
        self.single_action_space = UnicodeText(100_000)
        self._prompts = list(prompts)
        self._shown: tuple[str, ...] = ()

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Shows prompt ``seed`` modulo their number."""
        self._shown = tuple(self._prompts[one % len(self._prompts)] for one in seed)
        return self._shown, {}

    def step(self, actions: Sequence[str]) -> tuple[Any, ...]:
        """Ends every episode."""
        ended = np.ones(self.num_envs, dtype=bool)
        return self._shown, np.array(even_share(actions)), ended, ~ended, {}
