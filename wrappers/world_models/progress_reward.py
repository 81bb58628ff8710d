"""From the progress of some frames to one reward."""

from typing import Literal, get_args

import numpy as np

__all__ = ["Collapse", "checked_collapse", "collapse_progress"]

Collapse = Literal["potential", "final", "max"]

_WINDOW = 3


def collapse_progress(progress: np.ndarray, collapse: Collapse) -> float | None:
    """Collapses per-frame progress, clipped to [0, 1] (arXiv 2608.12564, embodied track).

    * ``"potential"``: mean of the last three frames minus mean of the first three, in [-1, 1]:
      potential shaping over the whole rollout. Of fewer than six frames, halves; a single frame
      has no potential, which is no opinion.
    * ``"final"``: the last frame's, in [0, 1].
    * ``"max"``: the highest, in [0, 1].

    Args:
        progress: (n,) float, in the order of time, n >= 1.
        collapse: One of the three.

    Raises:
        ValueError: ``progress`` is empty or no vector, or ``collapse`` is unknown.

    Example:
        >>> progress = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0])
        >>> [round(collapse_progress(progress, name), 3) for name in ("potential", "final", "max")]
        [0.7, 1.0, 1.0]
    """
    if progress.ndim != 1 or not len(progress):
        raise ValueError(f"progress must be a vector of at least one frame, got {progress.shape}")
    values = np.clip(progress, 0.0, 1.0)
    if checked_collapse(collapse) == "potential":
        window = min(_WINDOW, len(values) // 2)
        return float(values[-window:].mean() - values[:window].mean()) if window else None
    return float(values[-1] if collapse == "final" else values.max())


def checked_collapse(collapse: Collapse) -> Collapse:
    """The argument itself.

    Raises:
        ValueError: It is none of the three.
    """
    if collapse not in get_args(Collapse):
        raise ValueError(f"collapse must be one of {get_args(Collapse)}, got {collapse!r}")
    return collapse
