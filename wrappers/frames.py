"""Frames spread evenly over an episode whose length nobody knows yet."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

__all__ = ["FrameSampler", "draws_the_past"]


def draws_the_past(env: gym.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> bool:
    """Whether an environment can draw an episode's moments after they have passed.

    Its ``render_frames`` takes the number of frames and, in a vector environment, the
    sub-environments. LIBERO's does; then no frame is rendered that the world model does not see.
    """
    if isinstance(env, gym.Env):
        return env.has_wrapper_attr("render_frames")
    return callable(getattr(env, "render_frames", None))


class FrameSampler:
    """Keeps every k-th frame; when it holds 2n frames, drops every second and doubles k.

    Rendering is lazy: frames that are not kept are never rendered.

    Args:
        frames: n, how many frames :meth:`spread` returns at most.

    Example:
        >>> sampler = FrameSampler(4)
        >>> for step in range(100):
        ...     sampler.see(lambda: np.full((2, 2, 3), step, np.uint8))
        >>> sampler.spread()[:, 0, 0, 0]
        array([ 0, 32, 64, 96], dtype=uint8)
    """

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._stride = 1
        self._seen = 0
        self._kept: list[tuple[int, np.ndarray]] = []

    def see(self, render: Callable[[], Any], final: bool = False) -> None:
        """Passes one step; calls ``render`` only if its frame is kept.

        Args:
            render: Returns an (H, W, 3) uint8 frame.
            final: Whether this is the episode's last frame, which is always kept.

        Raises:
            ValueError: What ``render`` returned is no such frame.
        """
        if not self._frames:
            return
        if self._seen % self._stride == 0 or final:
            self._kept.append((self._seen, _checked(render())))
        self._seen += 1
        if len(self._kept) >= 2 * self._frames and not final:
            self._kept = self._kept[::2]
            self._stride *= 2

    def spread(self) -> np.ndarray | None:
        """The kept frames nearest to n evenly spaced steps, from the first to the last one kept.

        Returns:
            (n or fewer, H, W, 3) uint8, or None if none were asked for or seen.
        """
        if not self._kept:
            return None
        steps = np.array([step for step, _ in self._kept])
        wanted = np.linspace(steps[-1], steps[0], self._frames)
        places = np.unique(np.abs(steps - wanted[:, None]).argmin(axis=1))
        return np.stack([self._kept[place][1] for place in places])


def _checked(frame: Any) -> np.ndarray:
    frame = np.asarray(frame)
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
        raise ValueError(
            f'frames need render_mode="rgb_array" and (H, W, 3) uint8 frames, render() gave '
            f"shape {frame.shape} and dtype {frame.dtype}"
        )
    return frame
