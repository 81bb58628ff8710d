"""Validation of submissions: untrusted bytes in, aligned predictions or a message out."""

import math
from typing import Final

import numpy as np

from wmrl_envs.autoresearch.answers import AnswerKey
from wmrl_envs.autoresearch.table import (
    Table,
    TableError,
    canonical,
    parse_number,
    read_table,
    shorten,
)

__all__ = ["read_predictions"]

_BASE_BYTES: Final = 1 << 20
_BYTES_PER_CELL: Final = 64
_ROUNDING: Final = 1e-6
_LISTED: Final = 5


def read_predictions(data: bytes, key: AnswerKey) -> np.ndarray:
    """Parses a submission and aligns it with the answers.

    The ids must be exactly those of the answers, in any order, compared as text (``7.0`` counts as
    ``7``). The columns must be exactly those of the sample submission, in any order. Labels are
    compared as text in the same way. Numbers must be finite; probabilities of loss metrics must lie
    in [0, 1] up to rounding, and a row of class probabilities must not be all zero (the metric
    rescales it).

    Args:
        data: The bytes of ``submission.csv``.
        key: The answers.

    Returns:
        Predictions in the order of the answers: class codes (N,) for label metrics, else float64
        (N,) for one column and (N, columns) for several.

    Raises:
        TableError: Anything is wrong; the message names the column and the data row (from 1).
    """
    _check_size(data, key)
    table = read_table(data, max_rows=len(key.ids))
    _check_columns(table, key)
    rows = _align(table.columns[key.spec.id_column], key)
    columns = [_read_column(table, name, key) for name in key.spec.prediction_columns]
    predictions = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
    if key.metric.columns == "class" and key.metric.unit_interval:
        _check_sums(predictions)
    return predictions[rows]


def _check_size(data: bytes, key: AnswerKey) -> None:
    cells = len(key.ids) * (1 + len(key.spec.prediction_columns))
    limit = _BASE_BYTES + _BYTES_PER_CELL * cells + 2 * sum(map(len, key.ids))
    if len(data) > limit:
        raise TableError(
            f"the file has {len(data)} bytes; {limit} are enough for {len(key.ids)} rows"
        )


def _check_columns(table: Table, key: AnswerKey) -> None:
    wanted = (key.spec.id_column, *key.spec.prediction_columns)
    for column in wanted:
        if column not in table.columns:
            raise TableError(f"missing; the file has {_some(list(table.columns))}", column=column)
    for column in table.columns:
        if column not in wanted:
            raise TableError(f"not asked for; wanted are {_some(list(wanted))}", column=column)


def _align(cells: tuple[str, ...], key: AnswerKey) -> list[int]:
    """For each answer the number of the submission's row."""
    ids = list(map(canonical, cells))
    places = {name: row for row, name in enumerate(ids)}
    known = set(key.ids)
    if len(places) < len(ids) or places.keys() != known:
        raise _id_error(ids, known, key.spec.id_column)
    return [places[name] for name in key.ids]


def _id_error(ids: list[str], known: set[str], column: str) -> TableError:
    seen: set[str] = set()
    for row, name in enumerate(ids, start=1):
        if name not in known:
            return TableError(f"{shorten(name)} is no id of the test set", column=column, row=row)
        if name in seen:
            return TableError(f"id {shorten(name)} occurs twice", column=column, row=row)
        seen.add(name)
    missing = sorted(known - seen)
    return TableError(f"{len(missing)} ids are missing: {_some(missing)}", column=column)


def _read_column(table: Table, column: str, key: AnswerKey) -> np.ndarray:
    cells = table.columns[column]
    if key.metric.kind == "label":
        return _read_labels(cells, column, key)
    values = np.array(list(map(parse_number, cells)), dtype=np.float64)
    _check_each(np.isnan(values), cells, column, "is no finite number")
    if key.metric.unit_interval:
        outside = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
        _check_each(outside, cells, column, "is no probability from 0 to 1")
        return np.clip(values, 0.0, 1.0)
    return values


def _read_labels(cells: tuple[str, ...], column: str, key: AnswerKey) -> np.ndarray:
    codes = {canonical(label): code for code, label in enumerate(key.spec.classes)}
    values = np.array([codes.get(canonical(cell), math.nan) for cell in cells], dtype=np.float64)
    problem = f"is no label; the labels are {_some(list(key.spec.classes))}"
    _check_each(np.isnan(values), cells, column, problem)
    return values.astype(np.intp)


def _check_each(bad: np.ndarray, cells: tuple[str, ...], column: str, problem: str) -> None:
    if bad.any():
        row = int(bad.argmax())
        raise TableError(f"{shorten(cells[row])} {problem}", column=column, row=row + 1)


def _check_sums(predictions: np.ndarray) -> None:
    empty = predictions.sum(axis=1) <= 0
    if empty.any():
        raise TableError("the probabilities of all classes are 0", row=int(empty.argmax()) + 1)


def _some(names: list[str]) -> str:
    shown = ", ".join(map(shorten, names[:_LISTED]))
    return f"{shown}, …" if len(names) > _LISTED else shown
