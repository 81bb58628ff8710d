"""The loss of behaviour cloning: cross entropy that forgives near misses."""

import torch

__all__ = ["BinLoss"]


class BinLoss:
    """Cross entropy against targets that spread over neighbouring bins.

    Bins are numbers, not names: one beside the right one is nearly right. The target of a bin is a
    Gaussian around it, cut off at the ends.

    Args:
        bins: The number of bins.
        smoothing: The Gaussian's standard deviation, in bins; 0 is the plain cross entropy.

    Raises:
        ValueError: The smoothing is negative.

    Example:
        >>> loss = BinLoss(bins=4, smoothing=0.0)
        >>> round(loss(torch.zeros(1, 4), torch.tensor([2])).item(), 4)  # ln 4
        1.3863
    """

    def __init__(self, bins: int, smoothing: float) -> None:
        if not smoothing >= 0:
            raise ValueError(f"smoothing must be at least 0, got {smoothing!r}")
        if smoothing:
            places = torch.arange(bins, dtype=torch.float64)
            weights = torch.exp(-((places[:, None] - places) ** 2) / (2 * smoothing**2))
            self._targets = (weights / weights.sum(dim=1, keepdim=True)).float()
        else:
            self._targets = torch.eye(bins)

    def __call__(self, logits: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Returns the mean over all tokens, nats.

        Args:
            logits: (..., bins).
            columns: (...), int64, the right bins, counted from 0.
        """
        targets = self._targets.to(logits.device)[columns]
        return -(targets * logits.log_softmax(dim=-1)).sum(dim=-1).mean()
