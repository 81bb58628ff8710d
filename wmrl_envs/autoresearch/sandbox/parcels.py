"""Folders of public data on their way to other machines: packed, named by their content, unpacked.

Equal folders give equal bytes, so that a digest names the content wherever it lies.
"""

import hashlib
import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from wmrl_envs.errors import SandboxError

__all__ = ["Stamp", "digest_of", "open_shelf", "pack", "stamp", "unpack"]

Stamp: TypeAlias = tuple[tuple[str, int, int], ...]
_EARLIEST = (1980, 1, 1, 0, 0, 0)


def pack(folder: Path, hidden: Sequence[str] = ()) -> bytes:
    """A folder as one uncompressed archive.

    Args:
        folder: The folder.
        hidden: Real paths that are left out, with all below them.

    Raises:
        ValueError: It holds what is no plain file, or a link that leads out of it.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, path in _entries(folder, hidden):
            entry = zipfile.ZipInfo(name, _EARLIEST)
            archive.writestr(entry, b"" if name.endswith("/") else path.read_bytes())
    return content.getvalue()


def stamp(folder: Path, hidden: Sequence[str] = ()) -> Stamp:
    """What changes when a file of the folder does: names, sizes and times of writing."""
    found = ((name, path.stat()) for name, path in _entries(folder, hidden))
    return tuple((name, entry.st_size, entry.st_mtime_ns) for name, entry in found)


def digest_of(content: bytes) -> str:
    """The name of packed content."""
    return hashlib.sha256(content).hexdigest()


def _entries(folder: Path, hidden: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Relative names (those of folders end in a slash) and paths, sorted."""
    inside = os.path.realpath(folder) + os.sep
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        real = os.path.realpath(path)
        if any(f"{real}/".startswith(f"{secret}/") for secret in hidden):
            continue
        if not real.startswith(inside):
            raise ValueError(f"{path} leads out of {folder}, which is to be sent to other machines")
        if path.is_dir():
            yield f"{name}/", path
        elif path.is_file():
            yield name, path
        else:
            raise ValueError(f"{path} is no plain file, and {folder} is to be sent")


def open_shelf(place: str | None) -> Path:
    """The folder of this machine that unpacked content lies in; None for one of this user's.

    Raises:
        SandboxError: It belongs to someone else, or others may write to it.
    """
    shelf = Path(place or os.path.join(tempfile.gettempdir(), f"wmrl-envs-{os.getuid()}"))
    shelf.mkdir(mode=0o755, parents=True, exist_ok=True)
    found = shelf.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise SandboxError(f"{shelf} must be a folder that only user {os.getuid()} may write to")
    return shelf


def unpack(content: bytes, digest: str, shelf: Path) -> Path:
    """Lays packed content out below ``shelf``, in the folder ``digest``, unless it is there.

    Raises:
        SandboxError: The content is not what its digest says.
    """
    target = shelf / digest
    if not target.is_dir():
        if digest_of(content) != digest:
            raise SandboxError(f"data {digest} was damaged on its way to this machine")
        with tempfile.TemporaryDirectory(dir=shelf) as folder:
            _lay_out(content, Path(folder, digest))
            _move(Path(folder, digest), target)
    return target


def _lay_out(content: bytes, folder: Path) -> None:
    folder.mkdir()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError:
        if not target.is_dir():  # else another worker of this machine was faster
            raise
