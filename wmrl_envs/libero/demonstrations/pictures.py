"""Pictures of demonstrations, rendered after the fact."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from wmrl_envs.libero.demonstrations.recording import Demonstration, replay

__all__ = ["Pictures"]


@dataclass(frozen=True)
class Pictures:
    """Which pictures a dataset holds.

    Args:
        cameras: The cameras' names.
        size: The side of a picture, pixels; that of the environments that are passed to :meth:`of`.

    Example:
        >>> Pictures(("agentview",), 64).spaces["agentview_image"].shape
        (64, 64, 3)
    """

    cameras: tuple[str, ...] = ("agentview",)
    size: int = 128

    @property
    def spaces(self) -> Mapping[str, spaces.Box]:
        """The observation spaces of the pictures, by observation name."""
        shape = (self.size, self.size, 3)
        return {f"{name}_image": spaces.Box(0, 255, shape, np.uint8) for name in self.cameras}

    def of(self, env: Any, demonstration: Demonstration) -> dict[str, NDArray[np.uint8]]:
        """Plays a demonstration again and renders every moment of it.

        Args:
            env: A LIBERO environment with pictures of this size.
            demonstration: The demonstration, of T steps.

        Returns:
            The pictures (T + 1, size, size, 3), upright, by observation name.

        Raises:
            RenderingUnavailable: There is no OpenGL.
            ValueError: Played again, it goes another way.
        """
        played = replay(env, demonstration)
        if played.first_difference is not None:
            raise ValueError(
                f"{demonstration.recipe.name} goes another way from step {played.first_difference} "
                "on: it was recorded with other versions of the simulator"
            )
        moments, render = len(demonstration) + 1, env.unwrapped.render_frames
        return {f"{name}_image": render(moments, name) for name in self.cameras}
