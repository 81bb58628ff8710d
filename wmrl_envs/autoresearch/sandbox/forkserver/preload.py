"""Importing the scientific stack once, and leaving a heap that forks share."""

import gc
import importlib
import os
import sys
import time
import weakref

from .rehearsal import rehearse

__all__ = ["preload", "settle"]

_HARMLESS_THREADS = ("jemalloc",)


def preload(names: list[str]) -> float:
    """Imports modules, rehearses their use and settles; returns the seconds that it took.

    Raises:
        RuntimeError: A module has started threads.
    """
    started = time.perf_counter()
    for name in names:
        importlib.import_module(name)
    rehearse()
    _keep_finalizers()
    threads = [name for name in _thread_names() if not name.startswith(_HARMLESS_THREADS)]
    if len(threads) > 1:
        raise RuntimeError(
            f"preload={names!r} started threads {threads[1:]}; a fork would copy their locks"
        )
    settle()
    return time.perf_counter() - started


def settle() -> None:
    """Leaves a heap that forks need not touch: each page that a fork writes to is copied.

    Our own modules must not be importable by scripts, and what the import caches know of
    directories is not true in a private root; to remove both here is what costs no job a page.
    """
    own = __name__.split(".")[0]
    for name in [name for name in sys.modules if name.split(".")[0] == own]:
        del sys.modules[name]
    sys.path_importer_cache.clear()
    gc.collect()
    gc.freeze()


def _keep_finalizers() -> None:
    """What the libraries would finalize at exit is the server's: no job does it at its own."""
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False


def _thread_names() -> list[str]:
    names = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as file:
            names.append(file.read().strip())
    return names
