"""LoRA adapters (arXiv 2106.09685) of PEFT on a language model."""

import copy
from collections.abc import Sequence
from typing import Any

__all__ = ["TARGETS", "base_of", "merged", "with_lora"]

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of the blocks of Qwen and Llama."""


def with_lora(
    llm: Any,
    *,
    rank: int = 32,
    alpha: float | None = None,
    targets: Sequence[str] = TARGETS,
) -> Any:
    """Freezes a language model and gives it adapters, which alone learn.

    They start at zero: the model computes what it did before.

    Args:
        llm: A causal language model of transformers; it is changed in place.
        rank: The rank of the updates.
        alpha: Their scale is ``alpha / rank``; None: the rank, scale 1.
        targets: Names of the linear layers.

    Returns:
        The model within its adapters.

    Raises:
        ImportError: PEFT is not installed.
        ValueError: The model has adapters already, or a target is none of its layers.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise ImportError("LoRA needs PEFT: pip install 'wmrl-envs[llm]'") from error
    if base_of(llm) is not llm:
        raise ValueError("the language model has adapters already")
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown or not targets:
        raise ValueError(f"targets must be some of {TARGETS}, got {tuple(targets)}")
    scale = rank if alpha is None else alpha
    config = LoraConfig(r=rank, lora_alpha=scale, target_modules=list(targets))
    return get_peft_model(llm, config).eval()


def base_of(llm: Any) -> Any:
    """Returns transformers' language model from within its adapters, if it has some."""
    return llm.get_base_model() if hasattr(llm, "get_base_model") else llm


def merged(llm: Any) -> Any:
    """Returns a language model without adapters that computes what ``llm`` does."""
    return llm if base_of(llm) is llm else copy.deepcopy(llm).merge_and_unload()
