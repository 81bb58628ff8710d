"""Strips and films of rollouts: one success and one failure of each task."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wmrl_envs.libero.vector_env import LiberoVectorEnv

__all__ = ["keep_films", "write_film", "write_strip"]

_STRIP_FRAMES, _FILM_FRAMES = 8, 24
_FRAME_MS = 125


def keep_films(
    envs: LiberoVectorEnv,
    starts: Sequence[tuple[int, int]],
    successes: Sequence[bool],
    split: str,
    folder: Path,
) -> None:
    """Draws the first success and the first failure of each task, unless there are films of them.

    Args:
        envs: The environments, not reset since the rollouts.
        starts: (task, initial state) of each rollout.
        successes: Of each rollout.
        split: The split's name, for the file's.
        folder: Made if missing; holds ``NAME.png`` and ``NAME.gif``.
    """
    chosen: dict[str, tuple[int, int]] = {}
    for i, ((task, state), success) in enumerate(zip(starts, successes, strict=True)):
        name = f"{split}-task{task}-{'success' if success else 'failure'}"
        if not list(folder.glob(f"{name}-*.png")):
            chosen.setdefault(name, (i, state))
    if not chosen:
        return
    folder.mkdir(parents=True, exist_ok=True)
    drawn = envs.render_frames(_FILM_FRAMES, [i for i, _ in chosen.values()])
    for (name, (_, state)), frames in zip(chosen.items(), drawn, strict=True):
        write_film(frames, folder / f"{name}-state{state}.gif")
        write_strip(frames, folder / f"{name}-state{state}.png")


def write_strip(frames: NDArray[np.uint8], path: Path) -> None:
    """Writes evenly spread frames side by side.

    Args:
        frames: (n, H, W, 3), uint8.
        path: A PNG file.
    """
    chosen = np.linspace(0, len(frames) - 1, min(_STRIP_FRAMES, len(frames))).round().astype(int)
    Image.fromarray(np.concatenate(list(frames[chosen]), axis=1)).save(path)


def write_film(frames: NDArray[np.uint8], path: Path) -> None:
    """Writes an animated GIF.

    Args:
        frames: (n, H, W, 3), uint8.
        path: A GIF file.
    """
    first, *others = [Image.fromarray(frame) for frame in frames]
    first.save(path, save_all=True, append_images=others, duration=_FRAME_MS, loop=0)
