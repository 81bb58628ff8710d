"""What the commands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console

__all__ = ["Command", "UsageError", "usage_errors"]


class UsageError(Exception):
    """The user asked for something that cannot be; shown as one line, exit code 2."""


class Command(Protocol):
    """One command: a dataclass whose fields are the options."""

    def run(self, console: Console) -> int:
        """Does the work and returns the exit code."""
        ...


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turns the errors that checking a user's input raises into :class:`UsageError`.

    Wrap only the lines that read the input: elsewhere a ``ValueError`` is a bug and wants its
    traceback.

    Example:
        >>> with usage_errors():
        ...     float("five")
        Traceback (most recent call last):
        wmrl_envs.benchmarks.commands.base.UsageError: could not convert string to float: 'five'
    """
    try:
        yield
    except (OSError, TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
