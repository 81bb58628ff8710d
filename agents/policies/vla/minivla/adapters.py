"""LoRA adapters (arXiv 2106.09685) of PEFT on the language model alone."""

from collections.abc import Sequence
from typing import Any

from wmrl_envs.agents.policies.vla.minivla.network import MiniVLANetwork

__all__ = ["TARGETS", "add_lora", "base_of"]

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of Qwen2.5's blocks."""


def add_lora(
    network: MiniVLANetwork,
    *,
    rank: int = 32,
    alpha: float | None = None,
    targets: Sequence[str] = TARGETS,
) -> None:
    """Freezes a network and gives its language model adapters, which alone learn.

    They start at zero: the network computes what it did before.

    Args:
        network: The network; it is changed in place.
        rank: The rank of the updates.
        alpha: Their scale is ``alpha / rank``; None: the rank, scale 1.
        targets: Names of the linear layers.

    Raises:
        ImportError: PEFT is not installed.
        ValueError: The language model has adapters already, or a target is none of its layers.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise ImportError("LoRA needs PEFT: pip install 'wmrl-envs[llm]'") from error
    if base_of(network.llm) is not network.llm:
        raise ValueError("the language model has adapters already")
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown or not targets:
        raise ValueError(f"targets must be some of {TARGETS}, got {tuple(targets)}")
    network.requires_grad_(False)
    config = LoraConfig(
        r=rank, lora_alpha=rank if alpha is None else alpha, target_modules=list(targets)
    )
    network.llm_backbone.llm = get_peft_model(network.llm, config).eval()


def base_of(llm: Any) -> Any:
    """Returns transformers' language model from within its adapters."""
    return llm.get_base_model() if hasattr(llm, "get_base_model") else llm
