"""Seccomp: a deny list of system calls as a classic BPF program, built by hand.

Source: https://docs.kernel.org/userspace-api/seccomp_filter.html. The numbers are those of the
kernel's system call tables for x86_64 and aarch64.
"""

import ctypes
import errno
import struct
from dataclasses import dataclass, field
from typing import Final

from .primitives import MACHINE, NAMESPACES, PrimitiveError, check, libc, no_new_privileges

__all__ = ["build", "install"]

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _FIRST_ARGUMENT_OFFSET = 0, 4, 16
_X32_BIT = 0x40000000
_AF_UNIX, _NO_FAMILY = 1, 0xFFFFFFFF
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

_NEWER = {
    "pidfd_getfd": 438, "process_madvise": 440, "move_mount": 429,
    "open_tree": 428, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "memfd_secret": 447,
}  # fmt: skip
_X86_64 = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "mount": 165,
    "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308, "bpf": 321,
    "perf_event_open": 298, "keyctl": 250, "add_key": 248, "request_key": 249,
    "userfaultfd": 323, "open_by_handle_at": 304, "name_to_handle_at": 303, "init_module": 175,
    "finit_module": 313, "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320,
    "reboot": 169, "swapon": 167, "swapoff": 168, "settimeofday": 164, "clock_settime": 227,
    "adjtimex": 159, "clock_adjtime": 305, "sethostname": 170, "setdomainname": 171, "acct": 163,
    "quotactl": 179, "syslog": 103, "iopl": 172, "ioperm": 173, "personality": 135,
    "fanotify_init": 300, "lookup_dcookie": 212, "vhangup": 153, "nfsservctl": 180,
    "uselib": 134, "mknod": 133, "mknodat": 259, "vmsplice": 278, "shmget": 29,
    "memfd_create": 319, "modify_ldt": 154, "mq_open": 240,
}  # fmt: skip
_AARCH64 = {
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "mount": 40,
    "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "bpf": 280,
    "perf_event_open": 241, "keyctl": 219, "add_key": 217, "request_key": 218,
    "userfaultfd": 282, "open_by_handle_at": 265, "name_to_handle_at": 264, "init_module": 105,
    "finit_module": 273, "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294,
    "reboot": 142, "swapon": 224, "swapoff": 225, "settimeofday": 170, "clock_settime": 112,
    "adjtimex": 171, "clock_adjtime": 266, "sethostname": 161, "setdomainname": 162, "acct": 89,
    "quotactl": 60, "syslog": 116, "personality": 92, "fanotify_init": 262,
    "lookup_dcookie": 18, "vhangup": 58, "nfsservctl": 42, "mknodat": 33, "vmsplice": 75,
    "shmget": 194, "memfd_create": 279, "mq_open": 180,
}  # fmt: skip


@dataclass(frozen=True)
class _Table:
    audit: int
    socket: int
    clone: int
    clone3: int
    prctl: int
    denied: dict[str, int] = field(repr=False)


_TABLES: Final = {
    "x86_64": _Table(0xC000003E, 41, 56, 435, 157, {**_X86_64, **_NEWER}),
    "aarch64": _Table(0xC00000B7, 198, 220, 435, 167, {**_AARCH64, **_NEWER}),
}


def build(unix_sockets: bool = True) -> bytes:
    """The filter for this machine.

    Denied: new namespaces, mounts, tracing, keys, kernel objects and devices, all socket families
    but (where ``unix_sockets``) AF_UNIX, and memory that no mapping accounts for (memfd, System V).
    ``clone3`` answers ENOSYS, upon which libc falls back to ``clone``, whose flags can be read.
    ``prctl`` pretends to set the parent-death signal and dumpability, so that the job can neither
    outlive its supervisor nor hide its memory from it.

    Raises:
        PrimitiveError: The system call numbers of this machine are not known.
    """
    table = _TABLES.get(MACHINE)
    if table is None:
        raise PrimitiveError(
            errno.ENOSYS, f"seccomp on {MACHINE}", "supported machines: x86_64, aarch64"
        )
    program = [
        _step(_LOAD, _ARCHITECTURE_OFFSET),
        _step(_EQUAL, table.audit, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_OFFSET),
    ]
    if MACHINE == "x86_64":
        program += [_step(_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _KILL)]
    for number in table.denied.values():
        program += _refuse(number, errno.EPERM)
    program += _refuse(table.clone3, errno.ENOSYS)
    program += _refuse_if_any_bit(table.clone, sum(NAMESPACES.values()))
    program += _refuse_unless(table.socket, _AF_UNIX if unix_sockets else _NO_FAMILY)
    program += _pretend(table.prctl, (_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE))
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _refuse(number: int, error: int) -> list[bytes]:
    return [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ERRNO | error)]


def _refuse_if_any_bit(number: int, bits: int) -> list[bytes]:
    return [
        _step(_EQUAL, number, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT_OFFSET),
        _step(_ANY_BIT, bits, 0, 1),
        _step(_RETURN, _ERRNO | errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]


def _refuse_unless(number: int, value: int) -> list[bytes]:
    return [
        _step(_EQUAL, number, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT_OFFSET),
        _step(_EQUAL, value, 1, 0),
        _step(_RETURN, _ERRNO | errno.EACCES),
        _step(_RETURN, _ALLOW),
    ]


def _pretend(number: int, values: tuple[int, int]) -> list[bytes]:
    return [
        _step(_EQUAL, number, 0, 5),
        _step(_LOAD, _FIRST_ARGUMENT_OFFSET),
        _step(_EQUAL, values[0], 1, 0),
        _step(_EQUAL, values[1], 0, 1),
        _step(_RETURN, _ERRNO),
        _step(_RETURN, _ALLOW),
    ]


def install(program: bytes) -> None:
    """Puts the filter on this process and its descendants."""
    steps = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(steps))
    argument = ctypes.create_string_buffer(head, len(head))
    no_new_privileges()
    address = ctypes.c_void_p(ctypes.addressof(argument))
    result = libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), address, 0, 0)
    check(result, "prctl(PR_SET_SECCOMP)", "needs a kernel with CONFIG_SECCOMP_FILTER")
