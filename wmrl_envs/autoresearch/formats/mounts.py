"""Which folders a program sees, and where: data are mounted read-only and never copied."""

import os
import posixpath
import warnings
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from wmrl_envs.autoresearch.files import is_lfs_pointer, read_bytes
from wmrl_envs.autoresearch.formats.layout import Layout
from wmrl_envs.autoresearch.sandbox import Job
from wmrl_envs.errors import TaskFormatError

__all__ = ["find_mounts"]

_DATA: Final = "/data"
_SCANNED: Final = 5_000


def find_mounts(
    layout: Layout, data: Mapping[str | os.PathLike[str], str] | None = None
) -> dict[str, str]:
    """The public folder at ``/data``, the folders that its links lead to, and the user's own.

    Args:
        layout: The task's parts.
        data: Further folders: host folder -> absolute place.

    Raises:
        TaskFormatError: A public file is a pointer of Git LFS, a link leads to the answers, or a
            folder cannot be mounted.
    """
    mounts = {str(layout.public): _DATA}
    for path in islice(_entries(layout.public), _SCANNED):
        if path.is_symlink():
            mounts |= _follow(path, layout)
        elif path.is_file() and is_lfs_pointer(path):
            read_bytes(path)
    for folder, place in (data or {}).items():
        mounts |= {_checked(Path(folder).absolute(), layout): place}
    try:
        Job("", ro_data=mounts)
    except ValueError as error:
        raise TaskFormatError(f"{layout.public}: {error}") from None
    return mounts


def _entries(folder: Path) -> Iterator[Path]:
    """The links to folders and the files, folder by folder."""
    for place, folders, files in os.walk(folder):
        linked = [name for name in folders if Path(place, name).is_symlink()]
        yield from (Path(place, name) for name in linked + sorted(files))


def _follow(link: Path, layout: Layout) -> dict[str, str]:
    """A link out of the public folder works in the sandbox if its goal lies there too."""
    goal = link.resolve()
    if goal.is_relative_to(layout.public.resolve()):
        return {}
    _checked(goal, layout)
    if goal.is_dir():
        inside = posixpath.join(_DATA, link.parent.relative_to(layout.public).as_posix())
        return {str(goal): posixpath.normpath(posixpath.join(inside, os.readlink(link)))}
    warnings.warn(
        f"{link} leads to a file outside of the public folder, which programs cannot see",
        stacklevel=4,
    )
    return {}


def _checked(folder: Path, layout: Layout) -> str:
    """Refuses what would show the answers."""
    secret = layout.answers.parent.resolve()
    goal = folder.resolve()
    if goal.is_relative_to(secret) or secret.is_relative_to(goal):
        raise TaskFormatError(f"{folder}: programs must not see it, as {secret} holds the answers")
    if not goal.exists():
        raise TaskFormatError(f"{folder}: the folder does not exist")
    return str(goal)
