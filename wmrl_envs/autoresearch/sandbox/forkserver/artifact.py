"""Reading the file that a job leaves, whose name and kind the untrusted side chose."""

import os
import stat

__all__ = ["read_artifact"]

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1 << 20


def read_artifact(directory: int, name: str, limit: int) -> tuple[bytes | None, str | None]:
    """Reads a plain file without following links and without ever waiting for a FIFO.

    Args:
        directory: Descriptor of the job's working directory.
        name: A file name without a slash.
        limit: The largest size that is accepted, in bytes.

    Returns:
        The bytes and None, or None and the reason.
    """
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=directory)
    except FileNotFoundError:
        return None, "missing"
    except OSError as error:
        return None, f"not a plain file ({error.strerror})"
    try:
        reason = _objection(os.fstat(descriptor), limit)
        return (None, reason) if reason else _read(descriptor, limit)
    finally:
        os.close(descriptor)


def _objection(found: os.stat_result, limit: int) -> str | None:
    if not stat.S_ISREG(found.st_mode):
        return "not a regular file"
    if found.st_nlink != 1:
        return f"has {found.st_nlink} hard links"
    if found.st_uid != os.getuid():
        return "belongs to another user"
    if found.st_size > limit:
        return f"too large ({found.st_size} bytes, at most {limit})"
    return None


def _read(descriptor: int, limit: int) -> tuple[bytes | None, str | None]:
    data = bytearray()
    while chunk := os.read(descriptor, min(_CHUNK, limit + 1 - len(data))):
        data += chunk
        if len(data) > limit:
            return None, f"too large (over {limit} bytes)"
    return bytes(data), None
