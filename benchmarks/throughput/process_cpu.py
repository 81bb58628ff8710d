"""CPU time of this process and of whole trees of others, ended members included."""

import os
import resource
from collections.abc import Iterable
from pathlib import Path

__all__ = ["children", "cpu_seconds"]

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(roots: Iterable[int]) -> float:
    """CPU seconds of this process, its ended children, and the live trees below ``roots``.

    A process passes its time on to the one that waits for it, so differences of this are complete
    where every process below is waited for.
    """
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    total = sum(used.ru_utime + used.ru_stime for used in own)
    table = _table()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        total += table[pid][1] if pid in table else 0.0
        waiting += [child for child, (parent, _) in table.items() if parent == pid]
    return total


def children() -> set[int]:
    """The live children of this process."""
    return {pid for pid, (parent, _) in _table().items() if parent == os.getpid()}


def _table() -> dict[int, tuple[int, float]]:
    """Process id -> parent and CPU seconds, those of children that it has waited for included."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        seconds = sum(map(int, fields[11:15])) / _TICKS
        found[int(path.parent.name)] = (int(fields[1]), seconds)
    return found
