"""Models with a PEFT adapter: only the adapter is stored and copied, never the frozen backbone."""

import copy
from collections.abc import Mapping
from typing import Any

__all__ = ["backbone", "load_weights", "twin", "weights"]


def backbone(model: Any) -> Any:
    """The transformers model inside a PEFT model (its LoRA layers stay); any other as it is."""
    inner = getattr(model, "get_base_model", None)
    return inner() if callable(inner) else model


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
