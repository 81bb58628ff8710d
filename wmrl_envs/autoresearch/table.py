"""Reading CSV files strictly: every cell stays the text that was written."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = [
    "Table",
    "TableError",
    "canonical",
    "parse_number",
    "parse_numbers",
    "read_table",
    "shorten",
]

_SHOWN = 40
_COMMA, _NEWLINE = b",\n"


class TableError(ValueError):
    """A CSV file breaks a rule.

    Attributes:
        problem: What is wrong, in words.
        column: The column's name, if one is to blame.
        row: The data row, counted from 1 below the header, if one is to blame.
    """

    def __init__(self, problem: str, *, column: str | None = None, row: int | None = None) -> None:
        self.problem = problem
        self.column = column
        self.row = row
        place = [f"column {shorten(column)}"] if column is not None else []
        place += [f"row {row}"] if row is not None else []
        super().__init__(f"{', '.join(place)}: {problem}" if place else problem)


@dataclass(frozen=True)
class Table:
    """Text cells by column.

    Attributes:
        columns: Column name -> cells, all of the same length, in the order of the file.
        rows: The number of data rows.
    """

    columns: dict[str, tuple[str, ...]]
    rows: int


def shorten(value: object) -> str:
    """A value's ``repr``, cut to 40 characters: messages quote untrusted text."""
    text = value if isinstance(value, str) else repr(value)
    return repr(text[:_SHOWN] + "…") if len(text) > _SHOWN else repr(text)


def read_table(data: bytes, *, max_rows: int | None = None) -> Table:
    r"""Parses UTF-8 CSV bytes with a header; a byte order mark and blank lines are skipped.

    Args:
        data: The file's bytes.
        max_rows: Stop with an error at the first data row beyond this number.

    Raises:
        TableError: The bytes are empty, no UTF-8 or no CSV, hold a NUL byte, repeat a column, or
            hold a row of the wrong width or one too many.

    Example:
        >>> read_table(b"id,target\n7,0.5\n").columns
        {'id': ('7',), 'target': ('0.5',)}
    """
    text = _decode(data)
    table = _read_plain(text, max_rows)
    return _read_any(text, max_rows) if table is None else table


def _read_plain(text: str, max_rows: int | None) -> Table | None:
    """Splits a text without quotes, blank lines or faults at once; None where there are any."""
    text = text.replace("\r\n", "\n").removesuffix("\n") + "\n"
    if '"' in text or "\r" in text or "\n\n" in text or text == "\n":
        return None
    header = text[: text.index("\n")].split(",")
    if len(set(header)) < len(header) or not _is_even(text, len(header)):
        return None
    cells = text[:-1].replace("\n", ",").split(",")
    rows = len(cells) // len(header) - 1
    if max_rows is not None and rows > max_rows:
        return None
    width = len(header)
    columns = {name: tuple(cells[width + i :: width]) for i, name in enumerate(header)}
    return Table(columns, rows)


def _is_even(text: str, width: int) -> bool:
    """Does every line hold as many fields as the header, none of them too long for a reader?"""
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    ends, commas = np.flatnonzero(data == _NEWLINE), np.flatnonzero(data == _COMMA)
    if len(commas) != (width - 1) * len(ends):
        return False
    if np.diff(ends, prepend=-1).max() > csv.field_size_limit():
        return False
    grid = commas.reshape(len(ends), width - 1)
    return width == 1 or bool((grid[:, -1] < ends).all() and (grid[1:, 0] > ends[:-1]).all())


def _read_any(text: str, max_rows: int | None) -> Table:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next((row for row in reader if row), None)
        if header is None:
            raise TableError("the file is empty")
        _check_header(header)
        rows = _read_rows(reader, len(header), max_rows)
    except csv.Error as error:
        raise TableError(f"line {reader.line_num} is not CSV: {error}") from None
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    return Table(dict(zip(header, cells, strict=True)), len(rows))


def parse_number(text: str) -> float:
    """A finite float, parsed to the nearest double; NaN for anything else.

    Python's own ``float`` also takes ``1_000`` and digits of other scripts, which no CSV writer
    means.

    Example:
        >>> parse_number("1e-3"), parse_number("1_000"), parse_number("inf")
        (0.001, nan, nan)
    """
    if not text.isascii() or "_" in text:
        return math.nan
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def parse_numbers(cells: Sequence[str]) -> np.ndarray:
    """:func:`parse_number` of each cell, (N,) float64."""
    joined = "".join(cells)
    if joined.isascii() and "_" not in joined:
        try:
            numbers = np.fromiter(map(float, cells), np.float64, len(cells))
            return np.where(np.isfinite(numbers), numbers, np.nan)
        except ValueError:
            pass
    return np.array(list(map(parse_number, cells)), dtype=np.float64)


def canonical(text: str) -> str:
    """The text by which ids and labels are compared: ``7.0`` becomes ``7``, as pandas may write it.

    Example:
        >>> canonical(" 7.0"), canonical("7.5"), canonical("7.0.0"), canonical("-0.0")
        ('7', '7.5', '7.0.0', '0')
    """
    text = text.strip()
    whole, dot, fraction = text.partition(".")
    if not dot or not whole.lstrip("-").isdecimal() or fraction.strip("0"):
        return text
    return "0" if whole == "-0" else whole


def _decode(data: bytes) -> str:
    if b"\0" in data:
        raise TableError(
            f"the file holds a NUL byte at position {data.index(0)}: it is no CSV file"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(f"the file is not UTF-8 text (byte {error.start})") from None


def _check_header(header: list[str]) -> None:
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise TableError("the column occurs twice", column=name)
        seen.add(name)


def _read_rows(reader: Iterator[list[str]], width: int, max_rows: int | None) -> list[list[str]]:
    rows: list[list[str]] = []
    for row in reader:
        if not row:
            continue
        if len(row) != width:
            raise TableError(f"{len(row)} fields, the header has {width}", row=len(rows) + 1)
        if max_rows is not None and len(rows) == max_rows:
            raise TableError(f"the file has more than the {max_rows} rows that are asked for")
        rows.append(row)
    return rows
