"""The private root of a job: read-only system and Python, public data, one quota for the rest."""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from . import primitives as kernel
from .readonly import make_read_only

__all__ = [
    "ACCOUNTS",
    "DEVICES",
    "INSIDE_ID",
    "WORK",
    "WRITABLE",
    "RootPlan",
    "enter",
    "places_to_hide",
]

WORK: Final = "/job"
WRITABLE: Final = (WORK, "/tmp", "/dev/shm")
DEVICES: Final = ("null", "zero", "full", "urandom", "random")
INSIDE_ID: Final = 1000
_STAGING = ("/tmp", "/mnt", "/run", "/opt")
_PRIVATE = kernel.MS_NOSUID | kernel.MS_NODEV
_SKELETON = ("proc", "dev", "dev/shm", "etc", "job", "tmp", ".scratch", ".empty")
ACCOUNTS: Final = {
    "etc/passwd": f"sandbox:x:{INSIDE_ID}:{INSIDE_ID}::{WORK}:/bin/sh\n",
    "etc/group": f"sandbox:x:{INSIDE_ID}:\n",
}


@dataclass(frozen=True)
class RootPlan:
    """What a private root shows.

    Attributes:
        system: Host paths shown read-only at the same place.
        hidden: Host paths (real paths) covered wherever they lie strictly inside a shown path.
        data: Host directory -> absolute place in the root, read-only.
        disk_mb: Size of all that the job writes, in MiB.
        inodes: Number of files, directories and links that it may create.
        owner: User and group id of the writable places, as this process sees them.
    """

    system: tuple[str, ...]
    hidden: tuple[str, ...]
    data: Mapping[str, str]
    disk_mb: int
    inodes: int
    owner: int


def enter(plan: RootPlan) -> None:
    """Builds the root and pivots into it; this process must own its mount namespace.

    The host's /proc stays in view at /proc: the kernel lets a pid namespace mount its own proc only
    while a complete one is visible, and the job's process then covers it.
    """
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    # Opened before the staging directory is covered: a virtual environment may lie below it.
    system, data = _open_all(plan.system), _open_all(plan.data)
    root = next(path for path in _STAGING if os.path.isdir(path))
    kernel.mount("tmpfs", root, "tmpfs", _PRIVATE, "size=1m,mode=755")
    _make_skeleton(root)
    _make_scratch(root, plan)
    for path, descriptor in system.items():
        _show(descriptor, root, path)
    for path, descriptor in data.items():
        _show(descriptor, root, plan.data[path])
    _hide(root, plan)
    kernel.mount(None, root, None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _PRIVATE)
    kernel.pivot(root)


def _open_all(paths: Iterable[str]) -> dict[str, int]:
    flags = os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW
    return {path: os.open(path, flags) for path in paths if os.path.lexists(path)}


def _make_skeleton(root: str) -> None:
    for name in _SKELETON:
        os.mkdir(f"{root}/{name}")
    for name, text in ACCOUNTS.items():
        with open(f"{root}/{name}", "w") as file:
            file.write(text)
    for name in DEVICES:
        _touch(f"{root}/dev/{name}")
        kernel.mount(f"/dev/{name}", f"{root}/dev/{name}", None, kernel.MS_BIND)
    kernel.mount("/proc", f"{root}/proc", None, kernel.MS_BIND | kernel.MS_REC)


def _make_scratch(root: str, plan: RootPlan) -> None:
    """One tmpfs, and so one quota, behind every writable place.

    It stays mounted below its own name too, because an unmount waits for the whole kernel.
    """
    scratch = f"{root}/.scratch"
    options = f"size={plan.disk_mb}m,nr_inodes={plan.inodes},mode=755"
    kernel.mount("tmpfs", scratch, "tmpfs", _PRIVATE, options)
    for place in WRITABLE:
        source = f"{scratch}/{os.path.basename(place)}"
        os.mkdir(source)
        os.chown(source, plan.owner, plan.owner)
        kernel.mount(source, root + place, None, kernel.MS_BIND)


def _show(descriptor: int, root: str, place: str) -> None:
    """Mounts an opened path read-only; a symbolic link is copied as a link."""
    target = root + place
    kind = os.fstat(descriptor).st_mode
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISLNK(kind):
        os.symlink(os.readlink("", dir_fd=descriptor), target)
    else:
        if stat.S_ISDIR(kind):
            os.makedirs(target, exist_ok=True)
        else:
            _touch(target)
        source = f"/proc/self/fd/{descriptor}"
        kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)
        make_read_only(target)
    os.close(descriptor)


def _hide(root: str, plan: RootPlan) -> None:
    empty = f"{root}/.empty"
    shown = {path: path for path in plan.system} | dict(plan.data)
    for place in places_to_hide(shown, plan.hidden):
        target = root + place
        if os.path.isdir(target):
            kernel.mount(empty, target, None, kernel.MS_BIND)
            make_read_only(target)
        elif os.path.exists(target):
            kernel.mount("/dev/null", target, None, kernel.MS_BIND)


def places_to_hide(shown: Mapping[str, str], hidden: Iterable[str]) -> list[str]:
    """Where ``hidden`` host paths come to lie, given host path -> place of what is shown.

    Only what lies strictly inside a shown path counts: to show a directory that is hidden elsewhere
    (a task's public data in a hidden cache) is the caller's explicit wish.
    """
    places = []
    for path, place in shown.items():
        if os.path.islink(path):
            continue  # shown as a link; what it leads to is shown, and covered, under its own name
        real = os.path.realpath(path).rstrip("/")
        for secret in hidden:
            if secret.startswith(real + "/"):
                places.append(place.rstrip("/") + secret[len(real) :])
    return sorted(set(places))


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
