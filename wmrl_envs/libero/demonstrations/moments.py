"""A few pictures of each demonstration, rendered from the recorded states: nothing is replayed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero.cameras import Cameras, oriented
from wmrl_envs.libero.demonstrations.recording import Demonstration
from wmrl_envs.libero.simulation import Simulation
from wmrl_envs.libero.suites import suite

__all__ = ["render_moments", "spread_moments"]


def spread_moments(last: int, n: int) -> NDArray[np.int_]:
    """Moments of an episode, evenly spread, the first and the last one included.

    Args:
        last: The number of the last moment.
        n: How many; they repeat where the episode has fewer.

    Raises:
        ValueError: ``n`` is less than 2.

    Example:
        >>> spread_moments(10, 5)
        array([ 0,  2,  5,  8, 10])
    """
    if n < 2:
        raise ValueError(f"n must be at least 2, got {n!r}")
    return np.linspace(0, last, n).round().astype(int)


def render_moments(
    demonstrations: Sequence[Demonstration], n: int, size: int, camera: str = "agentview"
) -> Iterator[NDArray[np.uint8]]:
    """Renders evenly spread moments, with one simulator at a time.

    The recorded states are those at the end of a control step, 4 ms later than what the environment
    shows; :class:`~wmrl_envs.libero.demonstrations.Pictures` plays the episode again and gives
    exactly that.

    Args:
        demonstrations: Demonstrations of libero_10, best task by task.
        n: Moments of each.
        size: The side of a picture, pixels.
        camera: The camera.

    Yields:
        (n, size, size, 3), uint8, upright, for each demonstration in order.

    Raises:
        RenderingUnavailable: There is no OpenGL.
        ValueError: ``n`` is less than 2, or there is no such camera.
    """
    for task_id, group in groupby(demonstrations, lambda found: found.recipe.task_id):
        with _simulation(task_id) as (simulation, cameras):
            for demonstration in group:
                states = demonstration.states[spread_moments(len(demonstration), n)]
                yield np.stack([_picture(simulation, cameras, s, size, camera) for s in states])


@contextmanager
def _simulation(task_id: int) -> Iterator[tuple[Simulation, Cameras]]:
    simulation = Simulation(suite("libero_10")[task_id])
    cameras = Cameras(simulation)
    try:
        yield simulation, cameras
    finally:
        cameras.close()
        simulation.close()


def _picture(
    simulation: Simulation, cameras: Cameras, state: NDArray[np.float64], size: int, camera: str
) -> NDArray[np.uint8]:
    simulation.start(state)
    return oriented(cameras.render(simulation.scene, camera, size, size), "upright")
