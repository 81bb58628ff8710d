"""Language models to measure with: a tiny random one, and SmolLM2 as its package ships it."""

from pathlib import Path
from typing import Any

from wmrl_envs.agents.smollm2.weights import smollm2

__all__ = ["smollm2", "tiny_model"]


def tiny_model() -> tuple[Any, Any]:
    """A random model of two layers, and the embedded policy's tokenizer."""
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    import wmrl_envs.agents.embedded as embedded

    weights = Path(str(embedded.__file__)).parent / "weights"
    tokenizer = PreTrainedTokenizerFast.from_pretrained(weights)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).eval(), tokenizer
