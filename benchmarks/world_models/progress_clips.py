"""Clips of demonstrations for a progress model: rendered once, kept in a folder."""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wmrl_envs.libero.demonstrations import (
    Demonstration,
    Recipe,
    Store,
    render_moments,
    spread_moments,
)
from wmrl_envs.wrappers.world_models.progress import ProgressClip

__all__ = ["ClipCache", "ClipForm", "DemonstrationClip", "read_demonstrations"]

Render = Callable[[Sequence[Demonstration], int, int], Iterator[np.ndarray]]


@dataclass(frozen=True)
class ClipForm:
    """What a clip looks like.

    Args:
        frames: Frames of an episode, evenly spread, the first and last moment included.
        pixels: The side of a rendered frame.

    Raises:
        ValueError: There are fewer than 2 frames, or fewer than 16 pixels.
    """

    frames: int = 8
    pixels: int = 128

    def __post_init__(self) -> None:
        if self.frames < 2 or self.pixels < 16:
            raise ValueError(
                f"frames must be at least 2 and pixels at least 16, got {self.frames!r} and "
                f"{self.pixels!r}"
            )


@dataclass(frozen=True)
class DemonstrationClip:
    """A clip and where it comes from.

    Attributes:
        recipe: The demonstration's recipe.
        success: The goal was reached.
        clip: Frames, and the share of goal predicates that held at each.
    """

    recipe: Recipe
    success: bool
    clip: ProgressClip


def read_demonstrations(folder: Path) -> list[Demonstration]:
    """The demonstrations of a folder that ``wmrl demos collect`` wrote, by task.

    Args:
        folder: Its output, or the ``episodes`` in it.

    Raises:
        ValueError: There are none.
    """
    inner = folder / "episodes"
    found = list(Store(inner if inner.is_dir() else folder))
    if not found:
        raise ValueError(f"{folder} holds no demonstrations: see `wmrl demos collect`")
    return found


class ClipCache:
    """Frames of demonstrations in a folder, one file an episode.

    Args:
        folder: The folder; clips of another form lie beside these.
        form: What clips look like.
        render: Renders demonstrations, given with the number of frames and the side.
    """

    def __init__(self, folder: Path, form: ClipForm, render: Render = render_moments) -> None:
        self._folder = folder / f"{form.frames}x{form.pixels}"
        self._form, self._render = form, render

    def lacking(self, demonstrations: Sequence[Demonstration]) -> list[Demonstration]:
        """Those that have not been rendered, or were recorded anew since."""
        return [found for found in demonstrations if self._read(found) is None]

    def fill(self, demonstrations: Sequence[Demonstration]) -> Iterator[Demonstration]:
        """Renders demonstrations; may be interrupted and called again with those lacking.

        Yields:
            Each demonstration, when its frames are in the folder.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        rendered = self._render(demonstrations, self._form.frames, self._form.pixels)
        for demonstration, frames in zip(demonstrations, rendered, strict=True):
            self._write(demonstration, frames)
            yield demonstration

    def clip(self, demonstration: Demonstration) -> DemonstrationClip:
        """The clip of a demonstration.

        Raises:
            KeyError: It has not been rendered.
        """
        frames = self._read(demonstration)
        if frames is None:
            raise KeyError(f"{demonstration.recipe.name} is not in {self._folder}")
        moments = spread_moments(len(demonstration), self._form.frames)
        progress = demonstration.progress[moments]
        clip = ProgressClip(demonstration.instruction, frames, progress)
        return DemonstrationClip(demonstration.recipe, demonstration.success, clip)

    def _path(self, demonstration: Demonstration) -> Path:
        return self._folder / f"{demonstration.recipe.name}.npz"

    def _read(self, demonstration: Demonstration) -> np.ndarray | None:
        path = self._path(demonstration)
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as archive:
            current = int(archive["digest"]) == _digest(demonstration)
            return np.asarray(archive["frames"]) if current else None

    def _write(self, demonstration: Demonstration, frames: np.ndarray) -> None:
        path = self._path(demonstration)
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.savez_compressed(file, frames=frames, digest=np.int64(_digest(demonstration)))
        os.replace(unfinished, path)


def _digest(demonstration: Demonstration) -> int:
    return zlib.crc32(np.ascontiguousarray(demonstration.states).tobytes())
