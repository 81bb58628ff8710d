"""Shortening what is too long for a prompt: its middle goes, and the text says so."""

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["cut_middle", "cut_text", "split_room"]

T = TypeVar("T")


def cut_middle(items: Sequence[T], room: int, note: Callable[[int], Sequence[T]]) -> list[T]:
    """Keeps the head and the tail of a sequence, a quarter of the room for the tail.

    Args:
        items: Tokens, or characters.
        room: The most items to return.
        note: Words how many items were left out; its own length counts.

    Returns:
        ``items`` if there is room for them, else head, note and tail.

    Raises:
        ValueError: There is no room for the note and an item on each side.

    Example:
        >>> "".join(cut_middle("abcdefghijklmnop", 12, lambda cut: f"[{cut}]"))
        'abcdef[8]op'
    """
    if len(items) <= room:
        return list(items)
    # The longest note that can be: the count in it depends on the room that it leaves.
    left = room - len(note(len(items)))
    if left < 2:
        raise ValueError(f"room must hold the note and 2 items, got {room!r}")
    tail = max(left // 4, 1)
    head = left - tail
    return [*items[:head], *note(len(items) - left), *items[len(items) - tail :]]


def cut_text(text: str, room: int) -> str:
    """A text of at most ``room`` characters: its middle is replaced by a note.

    Example:
        >>> print(cut_text("abcdefghij" * 20, 40))
        abcdefgh
        [... 190 characters cut ...]
        ij
    """
    return "".join(cut_middle(text, room, lambda cut: f"\n[... {cut} characters cut ...]\n"))


def split_room(first: int, second: int, room: int) -> tuple[int, int]:
    """Shares room between two parts: each gets what it needs, up to half and what the other leaves.

    Example:
        >>> split_room(900, 200, 600), split_room(900, 900, 600), split_room(10, 20, 600)
        ((400, 200), (300, 300), (10, 590))
    """
    share = min(first, max(room // 2, room - second))
    return share, room - share
