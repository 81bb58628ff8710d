"""A byte-level BPE tokenizer whose merges may span words but never a line or a digit.

On scripts from the grammar a token is close to a line, which makes generation on a CPU several
times cheaper than ordinary word-level merges.
"""

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

PAD, EOS, SOLUTION = "<pad>", "<eos>", "<sol>"


def train_tokenizer(texts: Iterable[str], vocab_size: int = 2048) -> PreTrainedTokenizerFast:
    """Trains the tokenizer on prompts and scripts.

    Args:
        texts: The training texts.
        vocab_size: The largest vocabulary, special tokens and the 256 bytes included.

    Returns:
        A fast tokenizer with the special tokens ``<pad>``, ``<eos>`` and ``<sol>`` (ids 0, 1, 2).

    Raises:
        ValueError: ``vocab_size`` does not even hold the bytes and the special tokens.
    """
    if vocab_size < 259:
        raise ValueError(f"vocab_size must be at least 259, got {vocab_size!r}")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\n"), "merged_with_previous"),
            pre_tokenizers.Split(Regex(r"[0-9]"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[PAD, EOS, SOLUTION],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=EOS)
