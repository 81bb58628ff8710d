"""A language model of some ten thousand parameters that writes letters, and its tokenizer."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

__all__ = ["LETTERS", "letter_model", "letter_tokenizer"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def letter_tokenizer() -> PreTrainedTokenizerFast:
    """One token a letter, and ">"; everything else is unknown."""
    vocabulary = {t: i for i, t in enumerate(["<pad>", "<eos>", "<unk>", ">", *LETTERS])}
    letters = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    letters.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=letters, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def letter_model(seed: int = 0) -> LlamaForCausalLM:
    """Random weights that depend on the seed alone."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=30,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=None,
            eos_token_id=1,
        )
    )
