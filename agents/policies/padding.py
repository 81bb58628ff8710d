"""Rows of unequal length as one rectangular tensor."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch.nn.utils.rnn import pad_sequence

__all__ = ["padded"]

Side = Literal["left", "right"]


def padded(
    rows: Sequence[Sequence[float]],
    dtype: torch.dtype,
    device: torch.device,
    side: Side = "right",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Stacks B rows, zeros at one side of those shorter than the longest, T.

    Args:
        rows: B sequences of numbers, B at least 1.
        dtype: The values' type.
        device: Where the tensors go.
        side: The side that is filled up.

    Returns:
        The values (B, T), and a bool mask (B, T) that is True where a row has one.

    Example:
        >>> values, mask = padded([(4, 5), (6,)], torch.long, torch.device("cpu"))
        >>> values.tolist(), mask.tolist()
        ([[4, 5], [6, 0]], [[True, True], [True, False]])
    """
    values = [torch.tensor(row, dtype=dtype) for row in rows]
    present = [torch.ones(len(row), dtype=torch.bool) for row in rows]
    stacked = (
        pad_sequence(tensors, batch_first=True, padding_side=side) for tensors in (values, present)
    )
    found, mask = (tensor.to(device) for tensor in stacked)
    return found, mask
