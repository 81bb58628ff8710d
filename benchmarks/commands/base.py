"""What the commands share."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console

from wmrl_envs.benchmarks.autoresearch.records import SettingsError

__all__ = ["Command", "UsageError", "setting_errors", "stopped_by_signals", "usage_errors"]


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


@contextmanager
def setting_errors() -> Iterator[None]:
    """Turns the settings' own error, wherever it is raised, into :class:`UsageError`."""
    try:
        yield
    except SettingsError as error:
        raise UsageError(str(error)) from error


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Lets SIGTERM stop a command as Ctrl-C does, with a KeyboardInterrupt.

    So a run that is told to end closes its sandbox and keeps its last step. Once it is ending,
    further SIGTERMs do not cut that short. A signal that the process ignores stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
