"""Strips of pictures: an episode at a glance."""

from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.libero.demonstrations import Recipe, record

__all__ = ["draw_strip"]

_QUALITY = 85


def draw_strip(env: Any, task_id: int, folder: Path, frames: int) -> Path:
    """Lets the expert solve a task from its first initial state and draws the episode.

    Args:
        env: A demonstration environment.
        task_id: The task.
        folder: Where ``task0.jpg`` and so on are written.
        frames: Pictures side by side, the first and last moment included.

    Returns:
        The picture's path.
    """
    from PIL import Image

    record(env, Recipe(task_id, init_state_id=0))
    strip = np.concatenate(list(env.unwrapped.render_frames(frames)), axis=1)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"task{task_id}.jpg"
    Image.fromarray(strip).save(path, quality=_QUALITY, optimize=True)
    return path
