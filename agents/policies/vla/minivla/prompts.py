"""The words around an instruction, and the tokenizer with its tokens for actions."""

import copy
from typing import Any

__all__ = ["EMBEDDING_MULTIPLE", "EXTRA_TOKENS", "embedding_rows", "extended", "qwen_prompt"]

EXTRA_TOKENS = 256
"""Tokens ``<|extra_0|>`` to ``<|extra_255|>`` that ``qwen25-0_5b-extra`` adds."""

EMBEDDING_MULTIPLE = 64
"""The token embedding's rows are a multiple of it."""

_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."


def qwen_prompt(instruction: str) -> str:
    r"""Returns the prompt that MiniVLA was trained with.

    Example:
        >>> qwen_prompt("Open the Drawer").splitlines()[3]
        'What action should the robot take to open the drawer?<|im_end|>'
    """
    question = f"What action should the robot take to {instruction.lower()}?"
    return (
        f"<|im_start|>system\n{_SYSTEM}<|im_end|>\n"
        f"<|im_start|>user\n{question}<|im_end|>\n"
        f"<|im_start|>assistant\n"
    )


def extended(tokenizer: Any, extra: int = EXTRA_TOKENS) -> Any:
    """Returns a copy of a tokenizer that knows ``<|extra_i|>``.

    Args:
        tokenizer: A tokenizer of transformers.
        extra: How many such tokens it must know.

    Raises:
        ValueError: It knows some of them already, but not all.
    """
    names = [f"<|extra_{i}|>" for i in range(extra)]
    known = sum(name in tokenizer.get_vocab() for name in names)
    if known == extra:
        return tokenizer
    if known:
        raise ValueError(f"tokenizer must know all {extra} tokens <|extra_i|> or none, got {known}")
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.add_tokens(names)
    return tokenizer


def embedding_rows(tokenizer: Any) -> int:
    """Returns the rows of the token embedding for a tokenizer: its length, rounded up."""
    return -(-len(tokenizer) // EMBEDDING_MULTIPLE) * EMBEDDING_MULTIPLE
