"""Frames that no simulator rendered."""

from collections.abc import Iterator, Sequence

import numpy as np

from wmrl_envs.libero.demonstrations import Demonstration, spread_moments


def render_brightness(
    demonstrations: Sequence[Demonstration], n: int, size: int
) -> Iterator[np.ndarray]:
    """Grey frames, as bright as the progress at their moment."""
    for demonstration in demonstrations:
        progress = demonstration.progress[spread_moments(len(demonstration), n)]
        grey = (255 * progress).astype(np.uint8)[:, None, None, None]
        yield np.broadcast_to(grey, (n, size, size, 3)).copy()
