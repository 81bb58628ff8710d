"""Linux isolation primitives through ctypes: no compiled and no third-party dependency."""

import ctypes
import errno
import os
import platform
import resource
import struct
from collections.abc import Mapping
from typing import Final

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

MACHINE: Final = platform.machine()
NAMESPACES: Final = {
    "user": 0x10000000,
    "mnt": 0x00020000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
}
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
SIGKILL = 9

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 36, 38, 47
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_LAST_CAPABILITY = 63
_USERNS_REMEDY = (
    "unprivileged user namespaces are refused here: set sysctl user.max_user_namespaces "
    "above 0 and kernel.apparmor_restrict_unprivileged_userns=0, or loosen the container's seccomp "
    "profile, or pass min_level='landlock'"
)


class PrimitiveError(OSError):
    """A kernel primitive was refused.

    Attributes:
        primitive: The call that failed, such as ``unshare(user,mnt)``.
        remedy: What would make it work; may be empty.
    """

    def __init__(self, number: int, primitive: str, remedy: str = "") -> None:
        super().__init__(number, os.strerror(number))
        self.primitive = primitive
        self.remedy = remedy

    def __str__(self) -> str:
        name = errno.errorcode.get(self.errno or 0, str(self.errno))
        text = f"{self.primitive}: {name} ({self.strerror})"
        return f"{text}; {self.remedy}" if self.remedy else text


def check(result: int, primitive: str, remedy: str = "") -> int:
    """Returns ``result``, or raises :class:`PrimitiveError` with the C errno if it is negative."""
    if result < 0:
        raise PrimitiveError(ctypes.get_errno(), primitive, remedy)
    return result


def prctl(option: int, *arguments: int) -> int:
    """Makes the system call prctl with unsigned long arguments."""
    padded = [*arguments, 0, 0, 0, 0][:4]
    return int(libc.prctl(option, *[ctypes.c_ulong(value) for value in padded]))


def no_new_privileges() -> None:
    """No exec grants privileges from here on."""
    check(prctl(_PR_SET_NO_NEW_PRIVS, 1), "prctl(PR_SET_NO_NEW_PRIVS)")


def die_with_parent() -> None:
    """This process gets SIGKILL when the thread that forked it ends."""
    check(prctl(_PR_SET_PDEATHSIG, SIGKILL), "prctl(PR_SET_PDEATHSIG)")


def set_dumpable(dumpable: bool = True) -> None:
    """Lets processes of the same user look into this one; a change of user forbids it.

    What is forbidden to others is forbidden to the process itself: writing its /proc/self/uid_map.
    """
    check(prctl(_PR_SET_DUMPABLE, int(dumpable)), "prctl(PR_SET_DUMPABLE)")


def become_subreaper() -> None:
    """Orphans among this process's descendants become its children."""
    check(prctl(_PR_SET_CHILD_SUBREAPER, 1), "prctl(PR_SET_CHILD_SUBREAPER)")


def unshare(*names: str) -> None:
    """Enters new namespaces, by the names of :data:`NAMESPACES`."""
    flags = 0
    for name in names:
        flags |= NAMESPACES[name]
    check(libc.unshare(flags), f"unshare({','.join(names)})", _USERNS_REMEDY)


def set_namespace(descriptor: int, *names: str) -> None:
    """Joins the namespaces of a process (a pidfd), or the one that a /proc/PID/ns file stands for.

    Of a new pid namespace, only children of this process become members.
    """
    flags = 0
    for name in names:
        flags |= NAMESPACES[name]
    check(libc.setns(descriptor, flags), f"setns({','.join(names)})", _USERNS_REMEDY)


def map_ids(uid: tuple[int, int], gid: tuple[int, int]) -> None:
    """Maps one user and one group of a new user namespace: pairs of the id inside and outside."""
    files = (
        ("setgroups", "deny"),
        ("uid_map", f"{uid[0]} {uid[1]} 1"),
        ("gid_map", f"{gid[0]} {gid[1]} 1"),
    )
    for name, text in files:
        _write_proc_self(name, text)


def _write_proc_self(name: str, text: str) -> None:
    try:
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    except OSError as error:
        raise PrimitiveError(
            error.errno or 0, f"write /proc/self/{name}", _USERNS_REMEDY
        ) from error


def drop_to(uid: int, gid: int) -> None:
    """Gives root up for good."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    set_dumpable()


def mount(
    source: str | None, target: str, kind: str | None, flags: int = 0, data: str | None = None
) -> None:
    """Makes the system call mount."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    result = libc.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3])
    check(result, f"mount({source},{target},{kind},{flags:#x},{data})")


def detach(path: str) -> None:
    """Unmounts ``path`` lazily."""
    check(libc.umount2(os.fsencode(path), MNT_DETACH), f"umount2({path})")


def pivot(root: str) -> None:
    """Makes ``root`` the root directory and lets go of the old one."""
    os.chdir(root)
    check(libc.syscall(_SYS_PIVOT_ROOT[MACHINE], b".", b"."), "pivot_root")
    detach(".")
    os.chdir("/")


def set_hostname(name: bytes) -> None:
    """Names the host of this uts namespace."""
    check(libc.sethostname(name, len(name)), "sethostname")


def drop_capabilities() -> None:
    """Empties the ambient, bounding, effective, permitted and inheritable sets."""
    prctl(_PR_CAP_AMBIENT, 4)
    for capability in range(_LAST_CAPABILITY + 1):
        if prctl(_PR_CAPBSET_DROP, capability) < 0 and ctypes.get_errno() == errno.EINVAL:
            break
    header = struct.pack("Ii", 0x20080522, 0)
    check(libc.capset(header, bytes(24)), "capset(0)")


def limit_resources(limits: Mapping[str, int]) -> None:
    """Sets rlimits, soft and hard, by lower-case names such as ``data`` or ``nproc``.

    A value over the present hard limit is cut to it. ``cpu`` leaves one second between the soft and
    the hard limit, because the first process of a pid namespace does not notice SIGXCPU.
    """
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name.upper()}")
        ceiling = resource.getrlimit(kind)[1]
        soft, hard = value, value + 1 if name == "cpu" else value
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def is_mapped(uid: int) -> bool:
    """True if ``uid`` exists in the present user namespace."""
    with open("/proc/self/uid_map") as file:
        ranges = [[int(number) for number in line.split()] for line in file]
    return any(first <= uid < first + count for first, _, count in ranges)
