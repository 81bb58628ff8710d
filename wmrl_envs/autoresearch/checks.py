"""Argument checks whose messages name the argument, the value and what would be right."""

from collections.abc import Sequence
from typing import Any

__all__ = ["checked_choice", "checked_int"]


def checked_int(name: str, value: Any, least: int) -> int:
    """Returns an integer argument that is at least ``least``.

    Raises:
        TypeError: The value is no ``int`` (a ``bool`` is none).
        ValueError: The value is too small.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, got {value!r} of type {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return value


def checked_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Returns an argument that is one of a few names.

    Raises:
        ValueError: The value is none of them.
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)
