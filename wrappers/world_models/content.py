"""What is equal in two episodes has one digest."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wmrl_envs.wrappers.world_models.base import Episode

__all__ = ["episode_digest"]


def episode_digest(episode: Episode) -> bytes:
    """A SHA-256 digest of everything that a world model sees of an episode.

    Types count: 1, 1.0, True and "1" differ, and so do arrays of another shape or dtype.

    Args:
        episode: Texts, bytes, numbers, None, arrays, and mappings and sequences of them.

    Returns:
        32 bytes, the same in every process.

    Raises:
        TypeError: The episode holds something else.

    Example:
        >>> one, other = Episode("t", ("x = 1",)), Episode("t", ("x = 1",))
        >>> episode_digest(one) == episode_digest(other) != episode_digest(Episode("t", ()))
        True
    """
    digest = hashlib.sha256()
    parts = (episode.task, episode.actions, episode.initial_observation, episode.frames)
    for part in _parts(parts):
        # Its length first: otherwise "ab", "c" would be "a", "bc".
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray | np.generic):
        yield from _array_parts(np.asarray(value))
    elif isinstance(value, bytes):
        yield b"bytes"
        yield value
    elif value is None or isinstance(value, str | bool | int | float):
        yield type(value).__name__.encode()
        yield repr(value).encode("utf-8", "surrogatepass")
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode()
        for key, item in value.items():
            yield from _parts(key)
            yield from _parts(item)
    elif isinstance(value, Sequence):
        yield f"sequence {len(value)}".encode()
        for item in value:
            yield from _parts(item)
    else:
        raise TypeError(
            f"an episode must hold texts, numbers, arrays, and mappings and sequences of them, to "
            f"have a digest, got a {type(value).__name__}"
        )


def _array_parts(array: np.ndarray) -> Iterator[bytes]:
    if array.dtype.hasobject:
        yield from _parts(array.tolist())
        return
    yield f"array {array.dtype.str} {array.shape}".encode()
    yield np.ascontiguousarray(array).tobytes()
