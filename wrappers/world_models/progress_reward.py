"""From the progress of some frames to one reward."""

from typing import Literal, get_args

import numpy as np

__all__ = ["Collapse", "checked_collapse", "collapse_progress"]

Collapse = Literal["potential", "final", "max"]


def collapse_progress(progress: np.ndarray, collapse: Collapse, k: int = 3) -> float:
    """Collapses per-frame progress (arXiv 2608.12564, embodied track).

    * ``"potential"``: mean of the last k frames minus mean of the first k, in [-1, 1]; potential
      shaping over the whole rollout.
    * ``"final"``: the last frame's.
    * ``"max"``: the highest.

    Args:
        progress: (n,) float, in the order of time, n >= 1.
        collapse: One of the three.
        k: Frames in each mean; with fewer frames than k, all of them.

    Raises:
        ValueError: ``progress`` is empty or no vector, ``collapse`` is unknown or ``k`` below 1.

    Example:
        >>> collapse_progress(np.array([0.0, 0.1, 0.2, 0.7, 0.8, 0.9]), "potential")
        0.7
    """
    if progress.ndim != 1 or not len(progress):
        raise ValueError(f"progress must be a vector of at least one frame, got {progress.shape}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k!r}")
    if checked_collapse(collapse) == "potential":
        return float(progress[-k:].mean() - progress[:k].mean())
    return float(progress[-1] if collapse == "final" else progress.max())


def checked_collapse(collapse: Collapse) -> Collapse:
    """The argument itself.

    Raises:
        ValueError: It is none of the three.
    """
    if collapse not in get_args(Collapse):
        raise ValueError(f"collapse must be one of {get_args(Collapse)}, got {collapse!r}")
    return collapse
