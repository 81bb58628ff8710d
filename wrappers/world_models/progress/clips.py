"""What a progress model learns from."""

from dataclasses import dataclass

import numpy as np

__all__ = ["ProgressClip", "checked_frames"]


@dataclass(frozen=True)
class ProgressClip:
    """Some frames of one episode with the progress at each.

    Attributes:
        task: The instruction.
        frames: (n, H, W, 3) uint8, in the order of time, the first one from the start.
        progress: (n,) float, 0 at the start, 1 when the goal is reached.

    Raises:
        ValueError: The shapes do not fit, or a progress is outside [0, 1].
    """

    task: str
    frames: np.ndarray
    progress: np.ndarray

    def __post_init__(self) -> None:
        checked_frames(self.frames)
        if self.progress.shape != (len(self.frames),):
            raise ValueError(
                f"progress must have shape {(len(self.frames),)}, got {self.progress.shape}"
            )
        if not np.all((self.progress >= 0.0) & (self.progress <= 1.0)):
            raise ValueError(f"progress must lie in [0, 1], got {self.progress!r}")


def checked_frames(frames: np.ndarray) -> np.ndarray:
    """The frames themselves.

    Raises:
        ValueError: They are not (n, H, W, 3) uint8 with n >= 1.
    """
    if frames.ndim != 4 or not len(frames) or frames.shape[3] != 3 or frames.dtype != np.uint8:
        raise ValueError(
            f"frames must be (n, H, W, 3) uint8 with n >= 1, got {frames.shape} {frames.dtype}"
        )
    return frames
