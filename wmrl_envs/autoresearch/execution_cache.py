"""Executions that are remembered in a file, across runs and processes."""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from wmrl_envs.autoresearch.sandbox import Execution
from wmrl_envs.errors import ExecutionCacheError

__all__ = ["REPEATABLE", "ExecutionCache"]

REPEATABLE: Final = frozenset({"ok", "error"})
"""How long a program ran, and when it was killed, depend on how busy the machine was."""

_APPLICATION_ID: Final = 0x574D524C
_VERSION: Final = 1
_TIMEOUT_S = 60.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS executions (
    key TEXT PRIMARY KEY, record TEXT NOT NULL, artifact BLOB
) WITHOUT ROWID
"""


class ExecutionCache:
    """A SQLite file of executions by key, which several processes may use at once.

    It holds what a program printed and the file that it wrote, not what that is worth: labels and
    grades stay outside. A record is JSON and raw bytes, so nothing in the file can run. Executions
    that may end otherwise the next time (see :data:`REPEATABLE`) are not kept.

    The file is in write-ahead mode, which network file systems do not support.

    Args:
        path: The file; made, where there is none, in an existing folder.

    Raises:
        ExecutionCacheError: The file cannot be opened, is damaged, or is something else.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cache = ExecutionCache(f"{folder}/executions.sqlite")
        ...     found = cache.get("no such key")
        ...     cache.close()
        >>> found is None
        True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner = -1
        with self._connected():
            pass

    def get(self, key: str) -> Execution | None:
        """The execution of a key; None where there is none.

        Raises:
            ExecutionCacheError: The file is damaged.
        """
        with self._connected() as connection:
            query = "SELECT record, artifact FROM executions WHERE key = ?"
            row = connection.execute(query, (key,)).fetchone()
            return None if row is None else _decode(*row)

    def put(self, key: str, execution: Execution) -> None:
        """Keeps an execution if it is repeatable; of two for one key the first stays.

        Raises:
            ExecutionCacheError: The file is damaged or cannot be written.
        """
        if execution.status not in REPEATABLE:
            return
        row = (key, _encode(execution), execution.artifact)
        with self._connected() as connection:
            connection.execute("INSERT OR IGNORE INTO executions VALUES (?, ?, ?)", row)

    def __len__(self) -> int:
        """The number of executions in the file."""
        with self._connected() as connection:
            return int(connection.execute("SELECT count(*) FROM executions").fetchone()[0])

    def close(self) -> None:
        """Lets go of the file; a later call opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    def __reduce__(self) -> tuple[Any, ...]:
        return ExecutionCache, (str(self.path),)

    def __deepcopy__(self, memo: dict[int, Any]) -> "ExecutionCache":
        return ExecutionCache(self.path)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                # SQLite forbids a forked process to use its parent's connection.
                if self._connection is None or self._owner != os.getpid():
                    self._connection, self._owner = _open(self.path), os.getpid()
                yield self._connection
            except (sqlite3.Error, ValueError) as error:
                raise ExecutionCacheError(
                    f"{self.path}: {error}; cache must be a file that this package has made, or a "
                    "path where there is none: delete it or choose another"
                ) from error


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Checks whose file this is before anything is written to it."""
    connection.execute("BEGIN IMMEDIATE")
    if _is_empty(connection):
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute(_SCHEMA)
    identity = tuple(_number(connection, name) for name in ("application_id", "user_version"))
    connection.execute("COMMIT")
    if identity != (_APPLICATION_ID, _VERSION):
        raise ValueError(f"not an execution cache of version {_VERSION}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return _number(connection, "schema_version") == 0


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _encode(execution: Execution) -> str:
    record = asdict(execution)
    del record["artifact"]
    return json.dumps(record, ensure_ascii=True)


def _decode(record: str, artifact: bytes | None) -> Execution:
    try:
        fields = json.loads(record)
        return Execution(**{**fields, "layers": tuple(fields["layers"])}, artifact=artifact)
    except (KeyError, TypeError) as error:
        raise ValueError(f"a record is damaged ({error})") from error
