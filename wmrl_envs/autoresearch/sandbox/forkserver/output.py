"""What is kept of a job's output: its head, for context, and its tail, where the exception is."""

__all__ = ["HeadAndTail"]


class HeadAndTail:
    r"""Keeps the first quarter and the last three quarters of ``limit`` bytes.

    Args:
        limit: The number of bytes that are kept.

    Example:
        >>> kept = HeadAndTail(8)
        >>> kept.write(b"abcdefghijklmnop")
        >>> kept.text()
        'ab\n[... 8 bytes left out ...]\nklmnop'
    """

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 4
        self._tail_limit = limit - limit // 4
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def write(self, data: bytes) -> None:
        """Adds the next piece of output."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit or None]

    def text(self) -> str:
        """The kept output, with a note of what was left out."""
        tail = bytes(self._tail[-self._tail_limit :]) if self._tail_limit else b""
        left_out = self.total - len(self._head) - len(tail)
        note = f"\n[... {left_out} bytes left out ...]\n" if left_out else ""
        head = self._head.decode("utf-8", "replace")
        return head + note + tail.decode("utf-8", "replace")
