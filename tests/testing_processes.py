"""Which processes of the host live, for tests that none stays behind."""

from collections.abc import Iterator
from pathlib import Path


def processes_named(name: str) -> set[int]:
    """Live processes with this command name."""
    return {pid for pid, command, state, _ in _processes() if command == name and state != "Z"}


def descendants(root: int) -> set[int]:
    """All processes below one, zombies included."""
    children: dict[int, list[int]] = {}
    for pid, _, _, parent in _processes():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found


def _processes() -> Iterator[tuple[int, str, str, int]]:
    """Process id, command name, state and parent of every process that can be seen."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, tail = path.read_text().rsplit(")", 1)
        except OSError:
            continue
        state, parent = tail.split()[:2]
        yield int(path.parent.name), head.split("(", 1)[1], state, int(parent)
