"""Makes mounts read-only, on kernels that do it in one call and on those before 5.12."""

import errno
import os
import struct
from typing import Final

from . import primitives as kernel

__all__ = ["make_read_only", "remount_read_only"]

_SYS_MOUNT_SETATTR: Final = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_FLAGS: Final = kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
_KEPT: Final = {"noexec": kernel.MS_NOEXEC, "noatime": 1024, "nodiratime": 2048}
_ESCAPES: Final = {r"\040": " ", r"\011": "\t", r"\012": "\n", r"\134": "\\"}


def make_read_only(path: str) -> None:
    """Makes the mount at ``path`` and all mounts below it read-only, nosuid and nodev."""
    attributes = struct.pack("QQQQ", _FLAGS, 0, 0, 0)
    result = kernel.libc.syscall(
        _SYS_MOUNT_SETATTR,
        _AT_FDCWD,
        os.fsencode(path),
        _AT_RECURSIVE,
        attributes,
        len(attributes),
    )
    try:
        kernel.check(result, f"mount_setattr({path})")
    except kernel.PrimitiveError as error:
        if error.errno != errno.ENOSYS:
            raise
        remount_read_only(path)


def remount_read_only(path: str) -> None:
    """The same, mount by mount: the kernel has mount_setattr since 5.12 only."""
    top = os.path.realpath(path)
    for point, options in _mounts():
        if point == top or point.startswith(top.rstrip("/") + "/"):
            kept = sum(flag for name, flag in _KEPT.items() if name in options)
            flags = kernel.MS_REMOUNT | kernel.MS_BIND | _FLAGS | kept
            kernel.mount(None, point, None, flags)


def _mounts() -> list[tuple[str, list[str]]]:
    """Mount points and their options."""
    with open("/proc/self/mountinfo") as file:
        fields = [line.split(" ") for line in file]
    return [(_unescaped(line[4]), line[5].split(",")) for line in fields]


def _unescaped(text: str) -> str:
    for escape, character in _ESCAPES.items():
        text = text.replace(escape, character)
    return text
