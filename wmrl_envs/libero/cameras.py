"""Pictures of a simulation, made when they are asked for and never before."""

import atexit
import contextlib
import os
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero.gl import make_context
from wmrl_envs.libero.simulation import Scene, Simulation

__all__ = ["Cameras", "oriented"]

Image = NDArray[np.uint8]

_ORIENTATIONS = {
    "upright": (slice(None, None, -1), slice(None)),
    "raw": (slice(None), slice(None)),
    "rot180": (slice(None, None, -1), slice(None, None, -1)),
}


def oriented(image: Image, orientation: str) -> Image:
    """Turns an OpenGL picture, whose first row is the lowest, as a policy wants it.

    Args:
        image: (H, W, 3).
        orientation: ``"upright"``; ``"raw"``, which stands on its head, as stock LIBERO and LeRobot
            have it; or ``"rot180"``, the raw one turned by 180 degrees (upright, left and right
            exchanged), as OpenVLA, SimpleVLA-RL and RLinf have it.
    """
    return np.ascontiguousarray(image[_ORIENTATIONS[orientation]])


class Cameras:
    """Renders scenes of one simulation in an OpenGL context of its own, made at the first picture.

    A scene is rendered from a copy of the simulator's data: a picture changes nothing, and a stored
    scene gives the picture, bit for bit, that its moment would have given.

    Args:
        simulation: The simulation.
        samples: Multisampling; 0, the default, halves the time of a picture.
    """

    def __init__(self, simulation: Simulation, samples: int = 0) -> None:
        self._simulation, self._samples = simulation, samples
        self._target: _Target | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The cameras of the simulation's model."""
        model = self._simulation.model
        return tuple(model.camera(i).name for i in range(model.ncam))

    def render(self, scene: Scene, camera: str, height: int, width: int) -> Image:
        """Renders one scene.

        Args:
            scene: What to show, see ``Simulation.scene``.
            camera: One of :attr:`names`.
            height: Pixels.
            width: Pixels.

        Returns:
            (height, width, 3), uint8, as OpenGL has it: the first row is the lowest.

        Raises:
            RenderingUnavailable: No OpenGL context can be made.
            ValueError: There is no such camera.
        """
        if camera not in self.names:
            raise ValueError(f"cameras must be among {', '.join(self.names)}, got {camera!r}")
        if self._target is None or not self._target.fits(height, width):
            self.close()
            self._target = _Target(self._simulation, self._samples, height, width)
        return self._target.render(scene, camera, height, width)

    def close(self) -> None:
        """Frees the OpenGL context; may be called twice."""
        if self._target is not None:
            self._target.close()
            self._target = None


class _Target:
    """An OpenGL context with the model's meshes and textures in it."""

    def __init__(self, simulation: Simulation, samples: int, height: int, width: int) -> None:
        import mujoco

        self._mujoco, self._simulation, self._model = mujoco, simulation, simulation.model
        self._height, self._width = height, width
        self._model.vis.quality.offsamples = samples
        self._model.vis.global_.offheight, self._model.vis.global_.offwidth = height, width
        self._gl = make_context(width, height)
        self._gl.make_current()
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_150)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(self._model, maxgeom=1000)
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._options, self._nothing = mujoco.MjvOption(), mujoco.MjvPerturb()
        self._options.geomgroup[0], self._options.geomgroup[1] = 0, 1  # collision, visual meshes
        self._process = os.getpid()
        _close_at_exit(self)

    def fits(self, height: int, width: int) -> bool:
        return height <= self._height and width <= self._width

    def render(self, scene: Scene, camera: str, height: int, width: int) -> Image:
        # Another environment's context may be the current one: its pictures would be ours.
        self._gl.make_current()
        data = self._simulation.posed(scene)
        self._mujoco.mj_comPos(self._model, data)  # mj_camlight needs it
        self._mujoco.mj_camlight(self._model, data)
        self._camera.fixedcamid = self._model.camera(camera).id
        viewport = self._mujoco.MjrRect(0, 0, width, height)
        image = np.empty((height, width, 3), np.uint8)
        with _site_alphas(self._model, scene.site_alphas):
            self._mujoco.mjv_updateScene(
                *(self._model, data, self._options, self._nothing, self._camera),
                *(self._mujoco.mjtCatBit.mjCAT_ALL, self._scene),
            )
        self._mujoco.mjr_render(viewport, self._scene, self._context)
        self._mujoco.mjr_readPixels(image, None, viewport, self._context)
        return image

    def close(self) -> None:
        # A forked process has a copy, whose OpenGL calls would hang.
        if self._context is not None and self._process == os.getpid():
            with contextlib.suppress(RuntimeError):
                self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._context = self._scene = None


@contextlib.contextmanager
def _site_alphas(model: Any, alphas: NDArray[np.float32]) -> Any:
    """Gives the model's sites the opacities of another moment, for as long as it is looked at."""
    present = model.site_rgba[:, 3].copy()
    model.site_rgba[:, 3] = alphas
    try:
        yield
    finally:
        model.site_rgba[:, 3] = present


def _close_at_exit(target: _Target) -> None:
    """Frees the context before EGL shuts down, which would complain of a context still alive."""
    living = weakref.ref(target)

    def close() -> None:
        found = living()
        if found is not None:
            found.close()

    atexit.register(close)
    weakref.finalize(target, atexit.unregister, close)
