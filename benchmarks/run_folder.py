"""A run folder belongs to one process at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wmrl_envs.benchmarks.autoresearch.records import SettingsError

__all__ = ["alone"]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keeps a second process out of a run folder, until this one ends, however it does.

    Raises:
        SettingsError: Another process is training there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SettingsError(f"another process is training in {folder}") from error
        yield
