"""The answer key of a task: ids, truth, and the two halves that it is graded on."""

import hashlib
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from wmrl_envs.autoresearch.metrics import Metric, get_metric
from wmrl_envs.autoresearch.spec import TaskSpec
from wmrl_envs.autoresearch.table import (
    Table,
    TableError,
    canonical,
    parse_number,
    read_table,
    shorten,
)
from wmrl_envs.errors import TaskFormatError

__all__ = ["AnswerKey", "Half", "load_answers", "split_halves"]

Half = Literal["score", "feedback", "all"]


@dataclass(frozen=True)
class AnswerKey:
    """Everything that a submission is validated and graded against.

    Attributes:
        spec: The task's description.
        ids: The N ids of the test set, as text.
        truth: (N,) class codes, or (N,) or (N, targets) float64 numbers for value metrics.
        halves: Half -> row numbers; ``score`` and ``feedback`` part the rows, ``all`` holds all.
    """

    spec: TaskSpec
    ids: tuple[str, ...]
    truth: np.ndarray
    halves: dict[Half, np.ndarray]

    @property
    def metric(self) -> Metric:
        """The task's metric."""
        return get_metric(self.spec.metric)


def load_answers(path: Path, spec: TaskSpec) -> AnswerKey:
    """Reads and checks ``answers.csv``.

    Raises:
        TaskFormatError: A column or an id is missing, an id repeats, a value is no number or no
            class of the task, or the metric is undefined on one of the halves.
    """
    try:
        table = read_table(path.read_bytes())
        _check_columns(table, spec)
        ids = _read_ids(table.columns[spec.id_column], spec.id_column)
        key = AnswerKey(spec, ids, _read_truth(table, spec), split_halves(ids, spec.name))
        _check_metric(key)
    except (OSError, TableError) as error:
        raise TaskFormatError(f"{path}: {error}") from None
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


def _hash(salt: str, text: str) -> bytes:
    return hashlib.blake2b(f"{salt}\0{text}".encode()).digest()


def _check_columns(table: Table, spec: TaskSpec) -> None:
    for column in (spec.id_column, *spec.target_columns):
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


def _read_truth(table: Table, spec: TaskSpec) -> np.ndarray:
    columns = [_read_target(table.columns[name], name, spec) for name in spec.target_columns]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def _read_target(cells: tuple[str, ...], column: str, spec: TaskSpec) -> np.ndarray:
    if spec.classes:
        codes = {canonical(label): code for code, label in enumerate(spec.classes)}
        values: list[float] = [codes.get(canonical(cell), math.nan) for cell in cells]
    else:
        values = list(map(parse_number, cells))
    for row, value in enumerate(values, start=1):
        if math.isnan(value):
            wanted = "class of the task" if spec.classes else "finite number"
            raise TableError(f"{shorten(cells[row - 1])} is no {wanted}", column=column, row=row)
    return np.array(values, dtype=np.intp if spec.classes else np.float64)


def _check_metric(key: AnswerKey) -> None:
    """A metric can be undefined on some answers, as the AUC is on a single class."""
    for half, rows in key.halves.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = key.metric(key.truth[rows], _perfect(key)[rows])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise TableError(
                f"metric {key.spec.metric!r} is undefined on the {half} half ({len(rows)} rows)"
            )


def _perfect(key: AnswerKey) -> np.ndarray:
    if key.metric.columns == "class":
        return np.asarray(np.eye(len(key.spec.classes))[key.truth])
    return key.truth
