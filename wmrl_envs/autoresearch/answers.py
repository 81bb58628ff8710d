"""The answer key of a task: ids, truth, and the two halves that it is graded on."""

import hashlib
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from wmrl_envs.autoresearch.files import read_file
from wmrl_envs.autoresearch.metrics import Metric
from wmrl_envs.autoresearch.spec import TaskSpec
from wmrl_envs.autoresearch.table import (
    Table,
    TableError,
    canonical,
    parse_number,
    parse_numbers,
    shorten,
)
from wmrl_envs.errors import TaskFormatError

__all__ = [
    "AnswerKey",
    "Half",
    "SortedIntegers",
    "integers",
    "load_answers",
    "make_key",
    "order_labels",
    "split_halves",
]

Half = Literal["score", "feedback", "all"]

_LONGEST_INTEGER = 18
_WIDEST_SCALE = 1000


class SortedIntegers(NamedTuple):
    """Ids that are integers: ``ordered`` ascending, and ``order``, the row of each."""

    ordered: np.ndarray
    order: np.ndarray


@dataclass(frozen=True)
class AnswerKey:
    """Everything that a submission is validated and graded against.

    Attributes:
        spec: The task's description.
        ids: The N ids of the test set, as text.
        truth: (N,) class codes, (N,) or (N, targets) float64 numbers, or (N,) texts.
        halves: Half -> row numbers; ``score`` and ``feedback`` part the rows, ``all`` holds all.
        labels: The labels of the class codes; empty where there are none.
        extra: (N,) weights, groups or ids, if the metric asks for them.
    """

    spec: TaskSpec
    ids: tuple[str, ...]
    truth: np.ndarray
    halves: dict[Half, np.ndarray]
    labels: tuple[str, ...] = ()
    extra: np.ndarray | None = field(default=None, repr=False)

    @property
    def metric(self) -> Metric:
        """The task's metric."""
        return self.spec.measure

    def measure(self, predictions: np.ndarray, half: Half) -> float:
        """The metric on one half, for predictions in the order of the answers.

        Raises:
            ValueError: The metric is undefined here, or the predictions break its form.
        """
        rows = self.halves[half]
        extra = None if self.extra is None else self.extra[rows]
        return self.metric(self.truth[rows], predictions[rows], extra)

    @cached_property
    def integers(self) -> SortedIntegers | None:
        """The ids as integers; None if they are not."""
        found = integers(self.ids)
        if found is None:
            return None
        order = np.argsort(found)
        return SortedIntegers(found[order], order)


def integers(cells: Sequence[str]) -> np.ndarray | None:
    """The cells as (N,) int64; None if one of them is none, or has more than 18 digits."""
    try:
        if max(map(len, cells), default=0) > _LONGEST_INTEGER:
            return None
        return np.fromiter(map(int, cells), np.int64, len(cells))
    except ValueError:
        return None


def load_answers(path: Path, spec: TaskSpec) -> AnswerKey:
    """Reads and checks ``answers.csv``, or a file of another suffix.

    Raises:
        TaskFormatError: A column or an id is missing, an id repeats, a value is no number or no
            class of the task, or the metric is undefined on one of the halves.
    """
    try:
        return make_key(read_file(path), spec)
    except (OSError, TableError) as error:
        raise TaskFormatError(f"{path}: {error}") from None


def make_key(table: Table, spec: TaskSpec) -> AnswerKey:
    """Checks the answers.

    Raises:
        TableError: See :func:`load_answers`.
    """
    _check_columns(table, spec)
    ids = _read_ids(table.columns[spec.id_column], spec.id_column)
    labels = spec.classes or _find_labels(table, spec)
    truth = _read_truth(table, spec, labels)
    halves = _halves(table, spec, ids)
    key = AnswerKey(spec, ids, truth, halves, labels, _read_extra(table, spec, ids))
    _check_metric(key)
    return key


def split_halves(ids: tuple[str, ...], salt: str) -> dict[Half, np.ndarray]:
    """Parts the rows by a hash of their id: it depends on neither the order of the rows nor a seed.

    Args:
        ids: N ids.
        salt: The task's name, so that equal ids fall differently in different tasks.

    Returns:
        Row numbers, ascending: ``score`` (ceil(N / 2),), ``feedback`` (floor(N / 2),) and ``all``.
    """
    order = sorted(range(len(ids)), key=lambda row: _hash(salt, ids[row]))
    cut = len(ids) // 2
    return {
        "feedback": np.array(sorted(order[:cut]), dtype=np.intp),
        "score": np.array(sorted(order[cut:]), dtype=np.intp),
        "all": np.arange(len(ids)),
    }


def order_labels(labels: set[str]) -> tuple[str, ...]:
    """Numbers ascending, else texts: of two labels the positive one (1, True, Yes) comes last.

    Example:
        >>> order_labels({"10", "9"}), order_labels({"True", "False"})
        (('9', '10'), ('False', 'True'))
    """
    numbers = {label: parse_number(label) for label in labels}
    if any(map(math.isnan, numbers.values())):
        return tuple(sorted(labels))
    return tuple(sorted(labels, key=lambda label: (numbers[label], label)))


def _hash(salt: str, text: str) -> bytes:
    return hashlib.blake2b(f"{salt}\0{text}".encode()).digest()


def _halves(table: Table, spec: TaskSpec, ids: tuple[str, ...]) -> dict[Half, np.ndarray]:
    rows = np.arange(len(ids))
    if spec.keep is not None:
        column, cell = spec.keep
        kept = [canonical(value) == cell for value in table.columns[column]]
        rows = np.flatnonzero(np.array(kept, dtype=bool))
    if spec.whole:
        return {"score": rows, "feedback": rows, "all": rows}
    parts = split_halves(tuple(ids[row] for row in rows), spec.name)
    return {half: rows[part] for half, part in parts.items()}


def _check_columns(table: Table, spec: TaskSpec) -> None:
    wanted = [spec.id_column, *spec.target_columns]
    wanted += [spec.extra_column] if spec.extra_column else []
    wanted += [spec.keep[0]] if spec.keep else []
    for column in wanted:
        if column not in table.columns:
            raise TableError(f"there is none among {list(table.columns)}", column=column)


def _read_ids(cells: tuple[str, ...], column: str) -> tuple[str, ...]:
    ids = tuple(map(canonical, cells))
    seen: set[str] = set()
    for row, name in enumerate(ids, start=1):
        if not name or name in seen:
            problem = f"id {shorten(name)} occurs twice" if name else "the id is empty"
            raise TableError(problem, column=column, row=row)
        seen.add(name)
    return ids


def _find_labels(table: Table, spec: TaskSpec) -> tuple[str, ...]:
    if not spec.has_codes or len(spec.target_columns) > 1:
        return ()
    found = order_labels(set(map(canonical, table.columns[spec.target_columns[0]])))
    return _fill_scale(found) if spec.measure.ordinal else found


def _fill_scale(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Steps that do not occur are steps all the same, if the scale is made of integers."""
    found = integers(labels)
    if found is None or found[-1] - found[0] > _WIDEST_SCALE:
        return labels
    return tuple(map(str, range(found[0], found[-1] + 1)))


def _read_truth(table: Table, spec: TaskSpec, labels: tuple[str, ...]) -> np.ndarray:
    cells = [table.columns[name] for name in spec.target_columns]
    if spec.measure.kind == "text":
        return np.array(cells[0], dtype=object)
    if spec.has_codes and len(cells) == 1:
        return _read_codes(cells[0], spec.target_columns[0], labels)
    pairs = zip(cells, spec.target_columns, strict=True)
    numbers = [_read_numbers(column, name) for column, name in pairs]
    table_of_numbers = numbers[0] if len(numbers) == 1 else np.stack(numbers, axis=1)
    return _one_hot_codes(table_of_numbers) if spec.has_codes else table_of_numbers


def _read_codes(cells: tuple[str, ...], column: str, labels: tuple[str, ...]) -> np.ndarray:
    codes = {canonical(label): code for code, label in enumerate(labels)}
    values = np.array([codes.get(canonical(cell), -1) for cell in cells], dtype=np.intp)
    _name_bad(values < 0, cells, column, "is no class of the task")
    return values


def _read_numbers(cells: tuple[str, ...], column: str) -> np.ndarray:
    values = parse_numbers(cells)
    _name_bad(np.isnan(values), cells, column, "is no finite number")
    return values


def _name_bad(bad: np.ndarray, cells: tuple[str, ...], column: str, problem: str) -> None:
    if bad.any():
        row = int(bad.argmax())
        raise TableError(f"{shorten(cells[row])} {problem}", column=column, row=row + 1)


def _one_hot_codes(truth: np.ndarray) -> np.ndarray:
    wrong = (truth.max(axis=1) != 1) | (truth.sum(axis=1) != 1)
    if wrong.any():
        raise TableError("not exactly one class is 1", row=int(wrong.argmax()) + 1)
    return truth.argmax(axis=1)


def _read_extra(table: Table, spec: TaskSpec, ids: tuple[str, ...]) -> np.ndarray | None:
    wanted = spec.measure.extra
    if wanted == "none":
        return None
    if wanted == "id":
        return np.array(ids, dtype=object)
    if not spec.extra_column:
        return np.ones(len(ids))
    cells = table.columns[spec.extra_column]
    if wanted == "group":
        return np.array(cells, dtype=object)
    named = dict(spec.weights)
    return _read_numbers(tuple(str(named.get(cell, cell)) for cell in cells), spec.extra_column)


def _check_metric(key: AnswerKey) -> None:
    """A metric can be undefined on some answers, as the AUC is on a single class."""
    for half, rows in key.halves.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = key.measure(_perfect(key), half)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise TableError(
                f"metric {key.spec.metric!r} is undefined on the {half} half ({len(rows)} rows)"
            )


def _perfect(key: AnswerKey) -> np.ndarray:
    if key.metric.columns == "class" and key.labels:
        return np.asarray(np.eye(len(key.labels))[key.truth])
    if key.metric.columns == "class":
        return np.asarray(np.eye(len(key.spec.prediction_columns))[key.truth])
    return key.truth
