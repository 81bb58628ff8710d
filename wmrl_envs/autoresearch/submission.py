"""Validation of submissions: untrusted bytes in, aligned predictions or a message out."""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from wmrl_envs.autoresearch.answers import AnswerKey, integers
from wmrl_envs.autoresearch.quick_submission import read_quickly
from wmrl_envs.autoresearch.table import (
    Table,
    TableError,
    canonical,
    parse_number,
    parse_numbers,
    read_table,
    shorten,
)

__all__ = ["read_predictions"]

_BASE_BYTES: Final = 1 << 20
_BYTES_PER_CELL: Final = 64
_ROUNDING: Final = 1e-6
_LISTED: Final = 5
_NOTHING: Final = ("", "nan", "null", "none", "<na>")
_TEXT_FACTOR: Final = 8
_TEXT_BYTES: Final = 1024
_HEAD: Final = 64
_MAGIC: Final = (
    (b"<!doctype", "HTML"),
    (b"<html", "HTML"),
    (b"<?xml", "XML"),
    (b"\x80\x02", "a pickle"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
    (b"pk\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"par1", "Parquet"),
    (b"\x93numpy", "a numpy array"),
    (b"{", "JSON"),
    (b"[", "JSON"),
)


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
        Predictions in the order of the answers: class codes (N,) for label metrics, an (N,) object
        array for texts, else float64 (N,) for one column and (N, columns) for several.

    Raises:
        TableError: Anything is wrong; the message names the column and the data row (from 1).
    """
    _check_kind(data)
    _check_size(data, key)
    quick = read_quickly(data, key)
    return _read_carefully(data, key) if quick is None else quick


def _read_carefully(data: bytes, key: AnswerKey) -> np.ndarray:
    table = read_table(data, max_rows=len(key.ids))
    _check_columns(table, key)
    rows = _align(table.columns[key.spec.id_column], key)
    columns = [_read_column(table, name, key) for name in key.spec.prediction_columns]
    predictions = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
    if key.metric.columns == "class" and key.metric.unit_interval:
        _check_sums(predictions)
    return predictions[rows]


def _check_kind(data: bytes) -> None:
    """Names the commonest files that are no CSV by their first bytes."""
    head = data[:_HEAD].lstrip().lower()
    for start, kind in _MAGIC:
        if head.startswith(start):
            raise TableError(f"the file is {kind}, not a CSV file")


def _check_size(data: bytes, key: AnswerKey) -> None:
    cells = len(key.ids) * (1 + len(key.spec.prediction_columns))
    limit = _BASE_BYTES + _BYTES_PER_CELL * cells + 2 * sum(map(len, key.ids))
    if key.metric.kind == "text":
        limit += _TEXT_FACTOR * sum(map(len, key.truth)) + _TEXT_BYTES * len(key.ids)
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


def _align(cells: tuple[str, ...], key: AnswerKey) -> np.ndarray | slice:
    """For each answer the number of the submission's row."""
    if cells == key.ids:
        return slice(None)
    rows = _match_integers(cells, key)
    if rows is not None:
        return rows
    ids = list(map(canonical, cells))
    places = {name: row for row, name in enumerate(ids)}
    known = set(key.ids)
    if len(places) < len(ids) or places.keys() != known:
        raise _id_error(ids, known, key.spec.id_column)
    return np.array([places[name] for name in key.ids], dtype=np.intp)


def _match_integers(cells: tuple[str, ...], key: AnswerKey) -> np.ndarray | None:
    """:func:`_align` where all ids are integers in their shortest spelling: sorting beats hashing.

    Equal integers of equal total length are spelled alike, as no spelling is shorter.
    """
    wanted, joined = key.integers, "".join(cells)
    if wanted is None or len(cells) != len(key.ids) or not joined.isascii():
        return None
    if len(joined) != sum(map(len, key.ids)):
        return None
    found = integers(cells)
    if found is None:
        return None
    order = np.argsort(found)
    if not np.array_equal(found[order], wanted.ordered):
        return None
    rows = np.empty_like(order)
    rows[wanted.order] = order
    return rows


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
    if key.metric.kind == "text":
        return _read_texts(cells, column, key)
    values = parse_numbers(cells)
    _check_each(np.isnan(values), cells, column, "is no finite number")
    if key.metric.unit_interval:
        outside = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
        _check_each(outside, cells, column, "is no probability from 0 to 1")
        return np.clip(values, 0.0, 1.0)
    return values


def _read_texts(cells: tuple[str, ...], column: str, key: AnswerKey) -> np.ndarray:
    """Empty cells are allowed where the answers hold some too."""
    texts = np.array(cells, dtype=object)
    if all(key.truth):
        empty = np.array([not cell.strip() for cell in cells], dtype=bool)
        _check_each(empty, cells, column, "is empty; every row needs a text")
    return texts


def _read_labels(cells: tuple[str, ...], column: str, key: AnswerKey) -> np.ndarray:
    codes = {canonical(label): code for code, label in enumerate(key.labels)}
    labels = list(map(canonical, cells))
    if key.spec.open_labels:
        _check_label_types(labels, cells, column, codes)
        for label in labels:
            codes.setdefault(label, len(codes))
    values = np.array([codes.get(label, -1) for label in labels], dtype=np.intp)
    problem = f"is no label; the labels are {_some(list(key.labels))}"
    _check_each(values < 0, cells, column, problem)
    return values


def _check_label_types(
    labels: list[str], cells: tuple[str, ...], column: str, codes: Mapping[str, int]
) -> None:
    """Labels that the answers lack may be wrong, but they must be of the answers' type."""
    unknown = np.array([label not in codes for label in labels], dtype=bool)
    empty = np.array([label.lower() in _NOTHING for label in labels], dtype=bool)
    _check_each(unknown & empty, cells, column, "is no label: every row needs one")
    shown = f"the labels are {_some(list(codes))}"
    numeric = np.array([not math.isnan(parse_number(label)) for label in labels], dtype=bool)
    if all(not math.isnan(parse_number(label)) for label in codes):
        _check_each(unknown & ~numeric, cells, column, f"is no number; {shown}")
    elif len(labels) and (unknown & numeric).all():
        _check_each(unknown, cells, column, f"is a number; {shown}")


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
