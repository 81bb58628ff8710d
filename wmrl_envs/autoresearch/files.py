"""Reading tables of any suffix as text cells; unfetched files of Git LFS are named as such."""

import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from wmrl_envs.autoresearch.table import Table, TableError, read_table
from wmrl_envs.errors import TaskFormatError

__all__ = ["TABLE_SUFFIXES", "is_lfs_pointer", "read_bytes", "read_file", "suffix"]

TABLE_SUFFIXES: Final = (".csv", ".csv.gz", ".csv.zip", ".jsonl", ".parquet")
_LFS: Final = b"version https://git-lfs.github.com/spec/"
_LONGEST_POINTER: Final = 1024


def suffix(path: Path) -> str:
    """The suffix that tells the format, compression included, in lower case.

    Example:
        >>> suffix(Path("a/train.v2.CSV.zip")), suffix(Path("a/answers.jsonl"))
        ('.csv.zip', '.jsonl')
    """
    parts = [part.lower() for part in path.suffixes]
    packed = parts[-1:] in ([".gz"], [".zip"]) and parts[-2:-1] in ([".csv"], [".jsonl"], [".tsv"])
    return "".join(parts[-2:] if packed else parts[-1:])


def is_lfs_pointer(path: Path) -> bool:
    """Is this file a stand-in that ``git lfs pull`` would replace by the real one?"""
    if path.stat().st_size > _LONGEST_POINTER:
        return False
    with path.open("rb") as file:
        return file.read(len(_LFS)) == _LFS


def read_bytes(path: Path) -> bytes:
    """Reads a file that Git LFS may not have fetched.

    Raises:
        TaskFormatError: It is a pointer of Git LFS; the message holds the command to run.
        OSError: The file is unreadable.
    """
    data = path.read_bytes()
    if data.startswith(_LFS):
        raise TaskFormatError(
            f"{path}: this is a pointer of Git LFS and not the file itself; run "
            f"`git -C {path.parent} lfs pull --include '*{path.name}'`"
        )
    return data


def read_file(path: Path) -> Table:
    """Reads a table: CSV (also in a ``.gz`` or ``.zip``), JSON lines, or Parquet.

    Raises:
        TableError: The content is broken; a value's row is named.
        TaskFormatError: The file is a pointer of Git LFS.
        OSError: The file is unreadable.
    """
    data, kind = read_bytes(path), suffix(path)
    try:
        if kind.endswith(".gz"):
            data, kind = gzip.decompress(data), kind.removesuffix(".gz")
        if kind.endswith(".zip"):
            data, kind = _only_member(data), kind.removesuffix(".zip")
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise TableError(f"the archive is broken: {error}") from None
    if kind == ".jsonl":
        return _read_json_lines(data)
    return _read_parquet(data) if kind == ".parquet" else read_table(data)


def _only_member(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.lower().endswith((".csv", ".jsonl"))]
        if len(names) != 1:
            raise TableError(f"the archive must hold one table, it holds {names}")
        return archive.read(names[0])


def _read_json_lines(data: bytes) -> Table:
    lines = [line for line in data.decode("utf-8-sig", "replace").split("\n") if line.strip()]
    rows = [_json_row(line, number) for number, line in enumerate(lines, start=1)]
    return _from_rows(rows)


def _json_row(line: str, number: int) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise TableError(f"the line is no JSON: {error}", row=number) from None
    if not isinstance(row, dict):
        raise TableError("the line is no JSON object", row=number)
    return row


def _read_parquet(data: bytes) -> Table:
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(data))
    except (ImportError, OSError, ValueError) as error:
        raise TableError(f"the Parquet file cannot be read: {error}") from None
    cells = {str(name): tuple(map(_cell, frame[name].tolist())) for name in frame.columns}
    return Table(cells, len(frame))


def _from_rows(rows: Iterable[Mapping[str, Any]]) -> Table:
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    columns = {name: tuple(_cell(row.get(name)) for row in listed) for name in names}
    return Table(columns, len(listed))


def _cell(value: Any) -> str:
    """A value as a CSV writer would spell it; nothing for a missing one."""
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else _spell(value)


def _spell(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else str(value)
