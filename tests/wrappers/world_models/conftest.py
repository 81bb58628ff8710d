"""A tiny language model with the embedded tokenizer, and programs for it to read."""

from collections.abc import Callable
from typing import Any

import pytest
import source_tree
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CHAT_TEMPLATE = (
    "{% for m in messages %}<eos>{{ m['role'] }}\n{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<eos>assistant\n{% endif %}"
)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """One thread leaves the other cores alone."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    """The embedded tokenizer, with a chat template."""
    weights = source_tree.ROOT / "agents" / "embedded" / "weights"
    found = PreTrainedTokenizerFast.from_pretrained(weights)
    found.chat_template = CHAT_TEMPLATE
    return found


@pytest.fixture(scope="session")
def make_model(tokenizer: PreTrainedTokenizerFast) -> Callable[..., Any]:
    """Builds a language model of some hundred thousand random parameters."""

    def build(seed: int = 0) -> LlamaForCausalLM:
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=4096,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
        return LlamaForCausalLM(config)

    return build
