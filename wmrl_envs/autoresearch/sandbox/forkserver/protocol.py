"""Length-prefixed messages: a JSON object and raw bytes. No pickle, so nothing in them can run."""

import array
import json
import socket
import struct
from collections.abc import Iterable
from typing import Any

__all__ = [
    "HEADER_LIMIT",
    "ProtocolError",
    "receive_descriptors",
    "receive_exactly",
    "receive_message",
    "send_descriptor",
    "send_message",
]

_PREFIX = struct.Struct("!IQ")
_CHUNK = 1 << 20
HEADER_LIMIT = 64 << 20


class ProtocolError(Exception):
    """A message is cut short, too long, or no JSON object."""


def send_message(
    connection: socket.socket, header: dict[str, Any], body: Iterable[bytes] = ()
) -> None:
    """Sends a JSON object and the concatenation of ``body``."""
    parts = list(body)
    text = json.dumps(header).encode()
    connection.sendall(_PREFIX.pack(len(text), sum(map(len, parts))) + text)
    for part in parts:
        connection.sendall(part)


def receive_message(connection: socket.socket, body_limit: int) -> tuple[dict[str, Any], bytes]:
    """Receives what :func:`send_message` sent.

    Args:
        connection: A stream socket; its timeout applies to every single read.
        body_limit: The longest body that is accepted, in bytes.

    Returns:
        The JSON object and the raw bytes.

    Raises:
        ProtocolError: The stream ended early, a length is over its limit, or the header is no JSON
            object.
    """
    header_size, body_size = _PREFIX.unpack(receive_exactly(connection, _PREFIX.size))
    if header_size > HEADER_LIMIT or body_size > body_limit:
        raise ProtocolError(
            f"message of {header_size} + {body_size} bytes is over the limit "
            f"of {HEADER_LIMIT} + {body_limit}"
        )
    header = _decode(receive_exactly(connection, header_size))
    return header, receive_exactly(connection, body_size)


def receive_exactly(connection: socket.socket, size: int) -> bytes:
    """Reads ``size`` bytes or raises :class:`ProtocolError`."""
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(min(_CHUNK, size - len(data)))
        if not chunk:
            raise ProtocolError(f"stream ended after {len(data)} of {size} bytes")
        data += chunk
    return bytes(data)


def _decode(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise ProtocolError(f"header must be a JSON object, got {type(header).__name__}")
    return header


def send_descriptor(control: socket.socket, *descriptors: int) -> None:
    """Passes open descriptors to the process at the other end."""
    rights = array.array("i", descriptors)
    control.sendmsg([b"j"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


def receive_descriptors(control: socket.socket, most: int) -> list[int] | None:
    """The next descriptors that were sent together, or None once the other end is closed."""
    size = array.array("i").itemsize
    message, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(most * size))
    if not message or not ancillary:
        return None
    return array.array("i", ancillary[0][2]).tolist()
