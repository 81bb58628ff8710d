"""The bundled tasks: shipped inside the package, laid out once in the user's cache.

A task's folder in the cache is named by a hash of its content. It is built in a temporary folder
and renamed into place, so that a half-written folder never counts and processes that build the same
task at once do not disturb each other.
"""

import difflib
import functools
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from wmrl_envs.autoresearch.layout import build, digest, is_complete, is_intact
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.autoresearch.toml import read_toml

__all__ = ["CacheDir", "TaskSpecifier", "default_cache_dir", "load", "names", "resolve", "verify"]

CacheDir = str | os.PathLike[str] | None
TaskSpecifier = str | Task | Iterable[str | Task]

_DATA: Final = Path(__file__).parent / "data"
_SPLITS: Final = ("train", "test", "all")


def names(split: str | None = None) -> tuple[str, ...]:
    """The bundled tasks' names, sorted.

    Args:
        split: ``train`` (17 tasks), ``test`` (14 tasks), or None or ``all`` for both.

    Raises:
        ValueError: The split is unknown.

    Example:
        >>> len(names("train")), len(names("test"))
        (17, 14)
    """
    if split not in (None, *_SPLITS):
        raise ValueError(f"split must be one of {', '.join(_SPLITS)} or None, got {split!r}")
    splits = _splits()
    return tuple(name for name in sorted(splits) if split in (None, "all", splits[name]))


def load(name: str, *, cache_dir: CacheDir = None) -> Task:
    """Opens a bundled task; the first time it is laid out in the cache.

    Args:
        name: One of :func:`names`.
        cache_dir: Where to lay it out; None for the platform's cache folder of the user.

    Raises:
        ValueError: There is no such task; the message lists similar names.
        OSError: The cache cannot be written.
    """
    if name not in _splits():
        raise ValueError(f"unknown task {name!r}; {_similar(name)}")
    source = _DATA / name
    folder = _cache(cache_dir) / "tasks" / f"{name}-{digest(source)}"
    if not is_complete(folder):
        build(source, folder)
    return Task.from_folder(folder)


def resolve(spec: TaskSpecifier, *, cache_dir: CacheDir = None) -> tuple[Task, ...]:
    """Turns what a user writes into tasks.

    Args:
        spec: ``train``, ``test`` or ``all``; a task's name; a :class:`Task`; or several of these.
        cache_dir: See :func:`load`.

    Returns:
        At least one task, in the order given, no name twice.

    Raises:
        ValueError: A name is unknown or occurs twice, or there are no tasks.
        TypeError: ``spec`` holds something else.

    Example:
        >>> [task.name for task in resolve(["titanic", "digits"])]
        ['titanic', 'digits']
    """
    entries = [spec] if isinstance(spec, str | Task) else _listed(spec)
    tasks = tuple(_open(one, cache_dir) for entry in entries for one in _members(entry))
    if not tasks:
        raise ValueError("tasks must name at least one task, got none")
    _check_unique([task.name for task in tasks])
    return tasks


def verify(name: str, *, cache_dir: CacheDir = None) -> bool:
    """Compares a task's files in the cache with their hashes; False if any differs."""
    return is_intact(load(name, cache_dir=cache_dir).folder)


def default_cache_dir() -> Path:
    """The platform's cache folder of the user for this package."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "wmrl_envs"
    if sys.platform == "win32":
        return home / "AppData" / "Local" / "wmrl_envs" / "Cache"
    return home / ".cache" / "wmrl_envs"


@functools.cache
def _splits() -> dict[str, str]:
    """Name -> split of every bundled task."""
    return {
        folder.name: read_toml(folder / "task.toml")["split"]
        for folder in _DATA.iterdir()
        if folder.is_dir() and (folder / "task.toml").is_file()
    }


def _cache(cache_dir: CacheDir) -> Path:
    return default_cache_dir() if cache_dir is None else Path(cache_dir).absolute()


def _listed(spec: Iterable[str | Task]) -> list[str | Task]:
    if not isinstance(spec, Iterable) or isinstance(spec, bytes):
        raise TypeError(
            f"tasks must be a split, a task's name, a Task or a sequence of these, got {spec!r}"
        )
    return list(spec)


def _members(entry: str | Task) -> Iterable[str | Task]:
    """The names of a split, or the entry itself."""
    return names(entry) if isinstance(entry, str) and entry in _SPLITS else (entry,)


def _open(entry: str | Task, cache_dir: CacheDir) -> Task:
    if isinstance(entry, Task):
        return entry
    if isinstance(entry, str):
        return load(entry, cache_dir=cache_dir)
    raise TypeError(f"tasks must hold names and Tasks, got {entry!r}")


def _check_unique(found: list[str]) -> None:
    for name in found:
        if found.count(name) > 1:
            raise ValueError(
                f"tasks must not repeat a task, got {name!r} {found.count(name)} times"
            )


def _similar(name: str) -> str:
    close = difflib.get_close_matches(name, names(), n=3, cutoff=0.5)
    if close:
        return f"similar names are {', '.join(map(repr, close))}"
    return f"splits are {', '.join(map(repr, _SPLITS))}, tasks are {', '.join(names())}"
