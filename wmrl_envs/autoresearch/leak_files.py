"""Answers hidden in files of a public folder: in further tables, arrays and texts."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from wmrl_envs.autoresearch.table import TableError, canonical, read_table

__all__ = ["Truth", "answers_in_file"]

_FEWEST: Final = 8
"""So few answers in a row occur by chance."""
_LARGEST: Final = 64 * 2**20
"""Larger files are not read as text."""

Truth = dict[str, tuple[str, ...]]
"""Column -> canonical cells: the ids and the targets of the answers, in the same order."""


def answers_in_file(path: Path, truth: Truth, id_column: str) -> Iterator[str]:
    """Looks for the answers in a table, an archive of arrays, or any other file as text.

    Args:
        path: A public file.
        truth: The answers.
        id_column: Their id column.

    Yields:
        What tells which target.
    """
    if path.suffix in (".npz", ".npy"):
        series = _arrays(path)
    elif path.suffix == ".csv":
        series = _columns(path)
    else:
        yield from _in_text(path, truth, id_column)
        return
    ids = next((values for values in series.values() if _is_ids(values, truth[id_column])), None)
    for target, cells in truth.items():
        if target != id_column:
            wanted = _in_order_of(ids, truth[id_column], cells)
            for name, values in series.items():
                if _same(values, wanted):
                    yield f"{name!r} of {path.name} holds the answers of {target!r}"


def _arrays(path: Path) -> dict[str, list[str]]:
    """The flat arrays of an archive; those of objects are not unpickled."""
    series = {}
    try:
        loaded = np.load(path, allow_pickle=False)
        named = (
            {name: loaded[name] for name in loaded.files}
            if path.suffix == ".npz"
            else {path.stem: loaded}
        )
        for name, values in named.items():
            if values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1):
                series[name] = [canonical(str(value)) for value in values.ravel().tolist()]
    except (OSError, ValueError):
        return series
    return series


def _columns(path: Path) -> dict[str, list[str]]:
    try:
        table = read_table(path.read_bytes())
    except (OSError, TableError):
        return {}
    return {name: list(map(canonical, cells)) for name, cells in table.columns.items()}


def _is_ids(values: Sequence[str], ids: Sequence[str]) -> bool:
    return len(values) == len(ids) and set(values) == set(ids)


def _in_order_of(
    order: Sequence[str] | None, ids: Sequence[str], cells: Sequence[str]
) -> Sequence[str]:
    """The answers in the order of a file's own ids, if it has any."""
    if order is None:
        return cells
    rows = dict(zip(ids, cells, strict=True))
    return [rows[name] for name in order]


def _same(values: Sequence[str], wanted: Sequence[str]) -> bool:
    """True if all values agree and are more than a repetition of one."""
    if len(values) != len(wanted) or len(set(wanted)) < 2:
        return False
    if list(values) == list(wanted):
        return True
    try:
        return np.allclose(np.array(values, dtype=float), np.array(wanted, dtype=float), atol=0)
    except ValueError:
        return False


def _in_text(path: Path, truth: Truth, id_column: str) -> Iterator[str]:
    """The answers one after the other, whatever stands between them."""
    if path.stat().st_size > _LARGEST:
        return
    text = path.read_bytes().decode("utf-8", errors="replace")
    words = [canonical(word) for word in re.split(r"[\s,;:\[\](){}<>\"'|=]+", text)]
    joined = "\0" + "\0".join(words) + "\0"
    for target, cells in truth.items():
        if target != id_column and len(cells) >= _FEWEST and len(set(cells)) > 1:
            beside = _beside(truth, cells, id_column)
            if any("\0" + "\0".join(wanted) + "\0" in joined for wanted in (cells, beside)):
                yield f"{path.name} holds the answers of {target!r}"


def _beside(truth: Truth, cells: Sequence[str], id_column: str) -> list[str]:
    return [word for pair in zip(truth[id_column], cells, strict=True) for word in pair]
