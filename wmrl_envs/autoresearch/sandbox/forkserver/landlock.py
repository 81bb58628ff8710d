"""Landlock: an allow-list of paths, TCP, signals and abstract sockets, for this process and below.

Called through its three system calls, because the package on PyPI knows the file system only.
Source: https://docs.kernel.org/userspace-api/landlock.html.
"""

import errno
import os
import stat
import struct
from collections.abc import Iterable
from typing import Final

from .primitives import PrimitiveError, check, libc, no_new_privileges

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_REMEDY = "needs Linux 5.13 or newer with landlock in the kernel's lsm= list"

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST_ABI = (1 << 13) - 1
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP_BIND_AND_CONNECT = 3
_SCOPE_SOCKETS_AND_SIGNALS = 3

READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
LIST: Final = _READ_DIR
WRITE: Final = _FIRST_ABI | _REFER | _TRUNCATE | _IOCTL_DEV


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    return max(0, int(libc.syscall(_CREATE_RULESET, None, 0, 1)))


def restrict(rules: Iterable[tuple[str, int]]) -> None:
    """Denies every path outside ``rules``, TCP, and signals and abstract sockets to outsiders.

    What the running kernel's version does not know is left out.

    Args:
        rules: Pairs of a path and :data:`READ`, :data:`LIST` or :data:`WRITE`; a right on a
            directory covers all below it. Missing paths are skipped.

    Raises:
        PrimitiveError: The kernel has no Landlock.
    """
    version = abi()
    if version < 1:
        raise PrimitiveError(errno.ENOSYS, "landlock_create_ruleset", _REMEDY)
    handled = _handled_rights(version)
    ruleset = _create_ruleset(version, handled)
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & handled)
        no_new_privileges()
        check(libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self", _REMEDY)
    finally:
        os.close(ruleset)


def _handled_rights(version: int) -> int:
    rights = _FIRST_ABI
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if version >= since:
            rights |= right
    return rights


def _create_ruleset(version: int, handled: int) -> int:
    attributes = struct.pack("Q", handled)
    if version >= 4:
        attributes += struct.pack("Q", _TCP_BIND_AND_CONNECT)
    if version >= 6:
        attributes += struct.pack("Q", _SCOPE_SOCKETS_AND_SIGNALS)
    result = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    return int(check(result, "landlock_create_ruleset", _REMEDY))


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        if rights:
            check(libc.syscall(_ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule({path})")
    finally:
        os.close(descriptor)
