"""Memory and CPU of a whole process tree, from /proc."""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

__all__ = ["Usage", "descendants", "of_descendants", "of_namespace", "of_tree", "tasks_of_user"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_KIB = 1024
_T = TypeVar("_T")


class Usage(NamedTuple):
    """Memory in bytes and CPU seconds of all processes of a job.

    Attributes:
        memory: What is charged to the job, or, far below the limit, a cheap upper bound of it.
        cpu_s: User and system time.
        processes: The number of processes.
        exact: False if ``memory`` is the bound.
        files: The number of files, where nothing but this count bounds it.
    """

    memory: int
    cpu_s: float
    processes: int
    exact: bool
    files: int = 0

    def added(self, lent: int) -> int:
        """Bytes that the job has added to the ``lent`` ones that each process was forked with."""
        return self.memory if self.exact else max(0, self.memory - self.processes * lent)


def of_namespace(limit: int) -> Usage:
    """Usage of every process in the pid namespace whose proc is mounted at /proc.

    The memory is exact only where it may exceed ``limit`` bytes.
    """
    return _usage([int(name) for name in os.listdir("/proc") if name.isdigit()], limit, True)


def of_descendants(root: int, limit: int) -> Usage:
    """Usage of every process below process ``root``; see :func:`of_namespace`."""
    return _usage(descendants(root), limit, False)


def of_tree(first: int, limit: int) -> Usage:
    """Usage of process ``first``, of all below it, and of the scratch files around this process."""
    files = os.statvfs(".")
    found = _usage([first, *descendants(first)], limit, True)
    return found._replace(files=files.f_files - files.f_ffree)


def _usage(pids: list[int], limit: int, with_scratch: bool) -> Usage:
    """Proportional sizes take the kernel milliseconds to sum up, resident ones nothing.

    The resident ones bound them from above, for they count a shared page once a process.
    """
    scratch = _scratch_bytes() if with_scratch else 0
    cpu_s = sum(_of_each(pids, _cpu_s))
    bound = sum(_of_each(pids, _resident)) + scratch
    if bound <= limit:
        return Usage(bound, cpu_s, len(pids), exact=False)
    found = _of_each(pids, _memory)
    anonymous, shared = (sum(column) for column in zip((0, 0), *found, strict=True))
    # A mapped file of the scratch file system is in both; max() errs by the disk quota at most.
    return Usage(anonymous + max(shared, scratch), cpu_s, len(pids), exact=True)


def _of_each(pids: Iterable[int], measure: Callable[[int], _T]) -> list[_T]:
    """The measurements of those processes that have not ended meanwhile."""
    found = []
    for pid in pids:
        try:
            found.append(measure(pid))
        except (OSError, ValueError, IndexError):
            continue
    return found


def _resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE


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
