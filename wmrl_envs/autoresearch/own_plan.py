"""What a data frame's target decides: a task's category, metric, classes and modality."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from wmrl_envs.autoresearch.metrics import get_metric

__all__ = ["Plan", "make_plan", "named_by_texts"]

_FEW: Final = 20
"""Integers with at most so many different values are taken for classes."""
_FEWEST_ROWS: Final = 20
_DEFAULTS: Final = {"binary": "auc", "multiclass": "accuracy", "regression": "rmse"}


@dataclass(frozen=True)
class Plan:
    """What ``task.toml`` will say."""

    name: str
    targets: tuple[str, ...]
    category: str
    metric: str
    modality: str
    classes: tuple[str, ...]
    time_limit: float


def named_by_texts(frame: Any) -> pd.DataFrame:
    """The frame with its columns' names as a CSV file will spell them.

    Raises:
        TypeError: It is no data frame.
        ValueError: Two columns have one name.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a pandas DataFrame, got {type(frame).__name__}")
    named = frame.set_axis(list(map(str, frame.columns)), axis=1)
    twice = named.columns[named.columns.duplicated()]
    if len(twice):
        raise ValueError(f"frame must not have two columns of one name, got {twice[0]!r} twice")
    return named


def make_plan(
    frame: pd.DataFrame,
    target: str | Sequence[str],
    name: str,
    metric: str | None,
    time_limit: float,
) -> Plan:
    """Checks the arguments of ``make_task`` and decides what they leave open.

    Raises:
        ValueError: An argument has an impossible value, or does not suit the target.
    """
    targets = (target,) if isinstance(target, str) else _names(target)
    _check(frame, targets, name)
    if not isinstance(time_limit, int | float) or not 0 < time_limit < float("inf"):
        raise ValueError(f"time_limit must be a positive number of seconds, got {time_limit!r}")
    numbers = metric is not None and get_metric(metric).kind == "value"
    texts = [column for column in targets if not pd.api.types.is_numeric_dtype(frame[column])]
    if texts and (numbers or len(targets) > 1):
        raise ValueError(f"target {texts[0]!r} must hold numbers for metric {metric or 'mcrmse'!r}")
    classes = () if numbers or len(targets) > 1 else _classes(frame[targets[0]])
    if metric is not None and not numbers and not classes:
        raise ValueError(
            f"metric {metric!r} wants classes, but {list(targets)} holds numbers: texts, booleans "
            f"and at most {_FEW} different integers are classes"
        )
    if len(targets) > 1:
        category, chosen = "other", metric or "mcrmse"
    else:
        category = {0: "regression", 2: "binary"}.get(len(classes), "multiclass")
        chosen = metric or _DEFAULTS[category]
    return Plan(name, targets, category, chosen, _modality(frame, targets), classes, time_limit)


def _names(target: Any) -> tuple[str, ...]:
    if isinstance(target, list | tuple) and all(isinstance(name, str) for name in target):
        return tuple(target)
    raise ValueError(f"target must be the name of a column, or a list of names, got {target!r}")


def _check(frame: pd.DataFrame, targets: tuple[str, ...], name: str) -> None:
    if not targets or "id" in targets:
        raise ValueError(f"target must name columns other than 'id', got {list(targets)}")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name) or set(name) == {"."}:
        raise ValueError(f"name must be letters, digits, '_', '-' and '.', got {name!r}")
    for column in targets:
        if column not in frame:
            raise ValueError(f"target {column!r} is no column of the frame: {list(frame)[:20]}")
    if len(frame) < _FEWEST_ROWS:
        raise ValueError(f"frame must have at least {_FEWEST_ROWS} rows, got {len(frame)}")
    if set(frame) <= {"id", *targets}:
        raise ValueError(f"frame must have a column beside {list(targets)} and 'id', got none")
    for column in targets:
        _check_target(column, frame[column])


def _check_target(name: str, column: pd.Series) -> None:
    if missing := int(column.isna().sum()):
        raise ValueError(f"target {name!r} is missing in {missing} rows; drop them first")
    if (
        pd.api.types.is_numeric_dtype(column)
        and not np.isfinite(column.to_numpy(dtype=float)).all()
    ):
        raise ValueError(f"target {name!r} must hold finite numbers, got an infinite one")
    if column.nunique() < 2:
        raise ValueError(f"target {name!r} must hold different values, got {column.iloc[0]!r} only")


def _classes(column: pd.Series) -> tuple[str, ...]:
    """The labels in order; none if the column holds numbers."""
    values = column.unique()
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        labels = tuple(sorted(map(str, values)))
        if not all(label.strip() for label in labels):
            raise ValueError(f"target {column.name!r} must hold no blank labels, got {labels!r}")
        return labels
    if pd.api.types.is_integer_dtype(column) and len(values) <= _FEW:
        return tuple(map(str, sorted(values)))
    return ()


def _modality(frame: pd.DataFrame, targets: tuple[str, ...]) -> str:
    features = [column for column in frame if column not in (*targets, "id")]
    text = len(features) == 1 and not pd.api.types.is_numeric_dtype(frame[features[0]])
    return "text" if text else "tabular"
