"""Memory and CPU of a whole process tree, from /proc."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Usage", "descendants", "of_descendants", "of_namespace", "of_tree", "tasks_of_user"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_KIB = 1024


@dataclass(frozen=True)
class Usage:
    """Memory in bytes, CPU seconds and, where nothing else bounds them, files of a job."""

    memory: int
    cpu_s: float
    files: int = 0


def of_namespace() -> Usage:
    """Usage of every process in the pid namespace whose proc is mounted at /proc."""
    found = _total(int(name) for name in os.listdir("/proc") if name.isdigit())
    # A mapped file of the scratch file system is in both; max() errs by the disk quota at most.
    return Usage(found.anonymous + max(found.shared, _scratch_bytes()), found.cpu_s)


def of_descendants(root: int) -> Usage:
    """Usage of every process below process ``root``."""
    found = _total(descendants(root))
    return Usage(found.anonymous + found.shared, found.cpu_s)


def of_tree(first: int) -> Usage:
    """Usage of process ``first``, of all below it, and of the scratch files around this process."""
    found = _total([first, *descendants(first)])
    files = os.statvfs(".")
    memory = found.anonymous + max(found.shared, _scratch_bytes())
    return Usage(memory, found.cpu_s, files.f_files - files.f_ffree)


@dataclass(frozen=True)
class _Sum:
    anonymous: int
    shared: int
    cpu_s: float


def _total(pids: Iterable[int]) -> _Sum:
    anonymous = shared = 0
    cpu_s = 0.0
    for pid in pids:
        try:
            one_anonymous, one_shared = _memory(pid)
            cpu_s += _cpu_s(pid)
        except (OSError, ValueError, IndexError):
            continue  # it ended meanwhile
        anonymous += one_anonymous
        shared += one_shared
    return _Sum(anonymous, shared, cpu_s)


def _memory(pid: int) -> tuple[int, int]:
    """Anonymous and shared-memory bytes of one process.

    Proportional set size, not resident set size: sixty forked children of a 100 MB process share
    their pages and would read as 6 GB. A process that keeps its details from us (it ran a setuid
    binary, say) is charged its resident set.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            fields = dict(line.split(b":", 1) for line in file if b":" in line and b"kB" in line)
    except PermissionError:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, in_files, *_ = map(int, file.read().split())
        return (resident - in_files) * _PAGE, 0
    anonymous = _bytes(fields, b"Pss_Anon") + _bytes(fields, b"SwapPss")
    return anonymous, _bytes(fields, b"Pss_Shmem")


def _bytes(fields: dict[bytes, bytes], name: bytes) -> int:
    return int(fields[name].split()[0]) * _KIB if name in fields else 0


def _cpu_s(pid: int) -> float:
    """User and system time of a process and of the children that it has waited for."""
    return sum(map(int, _stat(pid)[11:15])) / _TICKS


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on: state, ppid, ..."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()


def _scratch_bytes() -> int:
    found = os.statvfs(".")
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def tasks_of_user(uid: int) -> int:
    """The number of processes and threads of a user, as RLIMIT_NPROC counts them."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == uid:
                    count += int(_stat(int(name))[17])
            except (OSError, IndexError):
                continue
    return count


def descendants(root: int) -> list[int]:
    """Live processes below ``root`` (found by ppid: task/children is not in every kernel)."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state, parent, *_ = _stat(int(name))
            except (OSError, IndexError):
                continue
            if state != "Z":
                children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
