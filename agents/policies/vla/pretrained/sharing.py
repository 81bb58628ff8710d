"""Copies that share what does not learn."""

import copy
from typing import Any

from torch import nn

__all__ = ["sharing_copy"]


def sharing_copy(module: nn.Module, memo: dict[int, Any], *shared: Any) -> Any:
    """Copies a module as ``copy.deepcopy`` does, but for weights that do not learn.

    The frozen reference of a LoRA run then takes the memory of its adapters alone.

    Args:
        module: The module, whose ``__deepcopy__`` this is.
        memo: What ``__deepcopy__`` was handed.
        *shared: Further parts that original and copy have in common.
    """
    frozen = [p for p in module.parameters() if not p.requires_grad]
    memo.update({id(value): value for value in [*frozen, *shared]})
    twin = module.__class__.__new__(module.__class__)
    memo[id(module)] = twin
    twin.__dict__.update(copy.deepcopy(module.__dict__, memo))
    return twin
