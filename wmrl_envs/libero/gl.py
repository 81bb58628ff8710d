"""The OpenGL back end that pictures are rendered with.

MuJoCo, PyOpenGL and robosuite read the back end from the environment variable ``MUJOCO_GL``, once,
when they are imported; there is no other way to tell them. So this module, alone in the package,
reads and sets environment variables: a user's choice stays, an unset variable becomes ``egl`` where
an EGL device exists and ``osmesa`` where the OSMesa library does.
"""

import ctypes
import ctypes.util
import functools
import importlib
import os
from typing import Any

from wmrl_envs.libero.errors import RenderingUnavailable

__all__ = ["choose_backend", "make_context"]

_LIBRARIES = {"egl": "EGL", "osmesa": "OSMesa"}
_APT = {
    "egl": "apt-get install libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri",
    "osmesa": "apt-get install libosmesa6 libgl1 libgl1-mesa-dri",
}

_contexts_of: set[int] = set()  # Ids of the processes, this one or its ancestors, that made one.


@functools.cache
def choose_backend() -> str:
    """Chooses the back end, once a process, before MuJoCo is imported.

    Returns:
        ``"egl"``, ``"osmesa"``, another name that the user put into ``MUJOCO_GL``, or
        ``"disable"`` where its library is missing: a simulator works without pictures.
    """
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip() or _first_available()
    if chosen in _LIBRARIES and ctypes.util.find_library(_LIBRARIES[chosen]) is None:
        chosen = "disable"
    os.environ["MUJOCO_GL"] = chosen
    return chosen


def make_context(width: int, height: int) -> Any:
    """Makes an OpenGL context for pictures of at most this size, in pixels.

    Raises:
        RenderingUnavailable: A library or a device is missing, or the process was forked from one
            that had already made a context, where OpenGL would hang for ever.
    """
    _refuse_after_fork()
    backend = choose_backend()
    if backend not in _APT:
        raise RenderingUnavailable(
            f"pictures are rendered with 'egl' or 'osmesa', but MUJOCO_GL is {backend!r} or its "
            f"library is missing. Install one ({_APT['egl']}, or {_APT['osmesa']}) and leave "
            "MUJOCO_GL unset"
        )
    try:
        context = importlib.import_module(f"mujoco.{backend}").GLContext(width, height)
    except (AttributeError, ImportError, RuntimeError) as error:
        raise RenderingUnavailable(
            f"no OpenGL context can be made with MUJOCO_GL={backend}: {error}. Install its "
            f"libraries ({_APT[backend]}), or set MUJOCO_GL to the other of 'egl' and 'osmesa' "
            "before anything imports mujoco or OpenGL"
        ) from error
    _contexts_of.add(os.getpid())
    return context


def _refuse_after_fork() -> None:
    strangers = _contexts_of - {os.getpid()}
    if strangers:
        raise RenderingUnavailable(
            "this process was forked from one that had already rendered, where OpenGL would hang: "
            'start it with spawn (AsyncVectorEnv(..., context="spawn")), or render in it first'
        )


def _first_available() -> str:
    if _egl_devices() > 0:
        return "egl"
    return "osmesa"


def _egl_devices() -> int:
    """Number of devices that EGL can render on; 0 without the library."""
    name = ctypes.util.find_library("EGL")
    if name is None:
        return 0
    try:
        library = ctypes.CDLL(name)
        library.eglGetProcAddress.restype = ctypes.c_void_p
        address = library.eglGetProcAddress(b"eglQueryDevicesEXT")
    except (AttributeError, OSError):
        return 0
    return _count_devices(address) if address else 0


def _count_devices(address: int) -> int:
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)
    )
    count = ctypes.c_int(0)
    found = prototype(address)(0, None, ctypes.byref(count))
    return count.value if found else 0
