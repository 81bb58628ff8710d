"""Models with a PEFT adapter: only the adapter is stored and copied, never the frozen backbone."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["backbone", "load_model", "load_weights", "twin", "weights", "with_lora"]

_ADAPTER = "adapter_config.json"


def backbone(model: Any) -> Any:
    """The transformers model inside a PEFT model (its LoRA layers stay); any other as it is."""
    inner = getattr(model, "get_base_model", None)
    return inner() if callable(inner) else model


def load_model(source: str, **kwargs: Any) -> Any:
    """Loads a causal language model, or an adapter in a folder together with its backbone.

    Args:
        source: A folder or Hub id.
        **kwargs: Arguments of ``AutoModelForCausalLM.from_pretrained``.

    Raises:
        OSError: It is neither.
    """
    from transformers import AutoModelForCausalLM

    if not (Path(source) / _ADAPTER).is_file():
        return AutoModelForCausalLM.from_pretrained(source, **kwargs)
    from peft import PeftConfig, PeftModel

    config = PeftConfig.from_pretrained(source)
    kwargs["revision"] = config.revision
    below = AutoModelForCausalLM.from_pretrained(config.base_model_name_or_path, **kwargs)
    return PeftModel.from_pretrained(below, source, is_trainable=True)


def with_lora(model: Any, rank: int, seed: int = 0) -> Any:
    """Freezes a model and puts a new LoRA adapter on all its linear layers but the head.

    Args:
        model: A causal language model of transformers.
        rank: The adapter's rank, at least 1.
        seed: Seeds the adapter's start, which does not change what the model writes.
    """
    import torch
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return get_peft_model(model, config).eval()


def weights(model: Any) -> dict[str, Any]:
    """The weights by name, of a PEFT model the adapter's alone."""
    if not _has_adapter(model):
        return dict(model.state_dict())
    from peft import get_peft_model_state_dict

    return dict(get_peft_model_state_dict(model, save_embedding_layers=False))


def load_weights(model: Any, state: Mapping[str, Any]) -> None:
    """Takes over what :func:`weights` returned of an equal model.

    Raises:
        ValueError: The state holds other weights than the adapter's.
    """
    if not _has_adapter(model):
        model.load_state_dict(state)
        return
    from peft import set_peft_model_state_dict

    expected = weights(model).keys()
    if expected != state.keys():
        raise ValueError(
            f"state must hold the adapter's {len(expected)} weights, other names are "
            f"{sorted(expected ^ state.keys())[:3]}"
        )
    set_peft_model_state_dict(model, dict(state))


def twin(model: Any) -> Any:
    """A copy with its own weights; of a PEFT model, the frozen ones stay shared."""
    shared = [p for p in model.parameters() if not p.requires_grad] if _has_adapter(model) else []
    return copy.deepcopy(model, {id(parameter): parameter for parameter in shared})


def _has_adapter(model: Any) -> bool:
    return callable(getattr(model, "get_base_model", None))
