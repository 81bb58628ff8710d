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

__all__ = ["LIST", "READ", "WRITE", "abi", "allow", "create", "read_all_but", "restrict"]

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


def create(rules: Iterable[tuple[str, int]]) -> int:
    """A ruleset: no path outside ``rules``, no TCP, no signals or abstract sockets to outsiders.

    What the running kernel's version does not know is left out.

    Args:
        rules: Pairs of a path and :data:`READ`, :data:`LIST` or :data:`WRITE`; a right on a
            directory covers all below it. Missing paths are skipped.

    Returns:
        A descriptor for :func:`restrict`, in this process or in another.

    Raises:
        PrimitiveError: The kernel has no Landlock.
    """
    version = abi()
    if version < 1:
        raise PrimitiveError(errno.ENOSYS, "landlock_create_ruleset", _REMEDY)
    handled = _handled_rights(version)
    ruleset = _create_ruleset(version, handled)
    for path, rights in rules:
        allow(ruleset, path, rights & handled)
    return ruleset


def allow(ruleset: int, path: str, rights: int) -> None:
    """Adds a right on a path to a ruleset that is not in force yet."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return  # what cannot be reached needs no right
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        if rights:
            check(libc.syscall(_ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule({path})")
    finally:
        os.close(descriptor)


def restrict(ruleset: int) -> None:
    """Puts a ruleset of :func:`create` on this process and its descendants."""
    no_new_privileges()
    check(libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self", _REMEDY)


def read_all_but(paths: Iterable[str], hidden: Iterable[str]) -> list[tuple[str, int]]:
    """Rules that let everything below ``paths`` be read except ``hidden`` real paths.

    Landlock only ever adds rights, so a directory that holds a hidden path is granted child by
    child; its names, the hidden ones too, can still be listed.
    """
    rules: list[tuple[str, int]] = []
    secrets = set(hidden)
    for path in paths:
        _add_readable(rules, os.path.realpath(path), secrets)
    return rules


def _add_readable(rules: list[tuple[str, int]], path: str, secrets: set[str]) -> None:
    if path in secrets:
        return
    if not any(secret.startswith(path.rstrip("/") + "/") for secret in secrets):
        rules.append((path, READ))
        return
    rules.append((path, LIST))
    with os.scandir(path) as entries:
        for entry in entries:
            if not entry.is_symlink():  # the right to what it leads to is not this path's to give
                _add_readable(rules, entry.path, secrets)


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
