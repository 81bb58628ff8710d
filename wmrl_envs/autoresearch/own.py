"""A task of one's own: from a data frame to a folder that the environments can play."""

import io
import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from wmrl_envs.autoresearch.layout import build, digest, is_complete
from wmrl_envs.autoresearch.metrics import get_metric
from wmrl_envs.autoresearch.quick_board import quick_scores
from wmrl_envs.autoresearch.task import Task

__all__ = ["make_task"]

_FEW: Final = 20
"""Integers with at most so many different values are taken for classes."""
_DEFAULTS: Final = {"binary": "auc", "multiclass": "accuracy", "regression": "rmse"}


def make_task(
    frame: pd.DataFrame,
    target: str | Sequence[str],
    *,
    name: str = "own",
    metric: str | None = None,
    description: str = "",
    leaderboard: Literal["quick"] | Sequence[float] = "quick",
    test_fraction: float = 0.3,
    time_limit: float = 10.0,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
) -> Task:
    """Turns a data frame into a task.

    The rows are shuffled, numbered anew (a column called ``id`` is dropped: in sorted data an id
    tells the target) and divided, by class where there are classes. The labels of the test rows
    go where programs cannot see them. The same arguments give the same task.

    Args:
        frame: One row an example; the columns beside the targets are the features.
        target: The column to predict, or several columns of numbers.
        name: The task's name.
        metric: A name of the metric registry; None: ``auc`` for two classes, ``accuracy`` for more,
            ``rmse`` for numbers, ``mcrmse`` for several targets. Texts, booleans, categories and
            integers of at most 20 different values are classes, unless the metric is one of values.
        description: What a policy should know of the data.
        leaderboard: ``quick`` fits a dozen scikit-learn pipelines (some seconds) and ranks
            submissions among their scores; or the scores of a board, in any order.
        test_fraction: The share of rows to predict.
        time_limit: Wall seconds of one execution.
        seed: Shuffles and divides the rows.
        folder: Where to write the task, a path that does not exist yet; None: the user's cache.

    Returns:
        The task, for ``gym.make("WMRL/AutoResearch-v0", tasks=[task])``.

    Raises:
        ValueError: A target is missing from the frame or holds missing values, there are too few
            rows, the metric does not suit the target, or the folder exists.

    Example:
        >>> import gymnasium as gym
        >>> frame = pd.DataFrame({"size": range(200), "price": np.arange(200.0) ** 1.5})
        >>> task = make_task(frame, "price", leaderboard=[900.0, 300.0, 20.0])
        >>> env = gym.make("wmrl_envs:WMRL/AutoResearch-v0", tasks=[task])
        >>> print(task.card(), end="")
        tabular regression rmse
        rows 140 num 1 cat 0 missing no scale even
        outputs 1 kind value names price
    """
    targets = (target,) if isinstance(target, str) else tuple(target)
    _check(frame, targets, name, test_fraction)
    plan = _plan(frame, targets, name, metric, time_limit)
    rows = frame.drop(columns="id", errors="ignore").reset_index(drop=True)
    train, test = _divide(rows, plan, test_fraction, seed)
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory)
        _write(source, plan, train, test, description)
        place = _place(folder, name, source)
        if not is_complete(place):
            scores = _scores(source, plan, train, test, leaderboard)
            (source / "leaderboard.csv").write_text(_board(scores, plan), encoding="utf-8")
            build(source, place)
    return Task.from_folder(place)


@dataclass(frozen=True)
class _Plan:
    """What ``task.toml`` will say."""

    name: str
    targets: tuple[str, ...]
    category: str
    metric: str
    modality: str
    classes: tuple[str, ...]
    time_limit: float

    @property
    def outputs(self) -> tuple[str, ...]:
        """The columns of a submission beside the id."""
        return self.classes if get_metric(self.metric).columns == "class" else self.targets


def _check(frame: pd.DataFrame, targets: tuple[str, ...], name: str, test_fraction: float) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a pandas DataFrame, got {type(frame).__name__}")
    if not targets or "id" in targets:
        raise ValueError(f"target must name columns other than 'id', got {list(targets)}")
    for column in targets:
        if column not in frame:
            raise ValueError(f"target {column!r} is no column of the frame: {list(frame)[:20]}")
        if missing := int(frame[column].isna().sum()):
            raise ValueError(f"target {column!r} is missing in {missing} rows; drop them first")
    if not re.fullmatch(r"[\w.-]+", name) or set(name) == {"."}:
        raise ValueError(f"name must be letters, digits, '_', '-' and '.', got {name!r}")
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction must lie between 0 and 1, got {test_fraction}")
    if len(frame) < 20:
        raise ValueError(f"frame must have at least 20 rows, got {len(frame)}")


def _plan(
    frame: pd.DataFrame, targets: tuple[str, ...], name: str, metric: str | None, limit: float
) -> _Plan:
    numbers = metric is not None and get_metric(metric).kind == "value"
    texts = [column for column in targets if not pd.api.types.is_numeric_dtype(frame[column])]
    if texts and (numbers or len(targets) > 1):
        raise ValueError(f"target {texts[0]!r} must hold numbers for metric {metric or 'mcrmse'!r}")
    classes = () if numbers or len(targets) > 1 else _classes(frame[targets[0]])
    if metric is not None and not numbers and not classes:
        raise ValueError(f"metric {metric!r} wants classes, but {list(targets)} holds numbers")
    if len(targets) > 1:
        category, chosen = "other", metric or "mcrmse"
    else:
        category = {0: "regression", 2: "binary"}.get(len(classes), "multiclass")
        chosen = metric or _DEFAULTS[category]
    return _Plan(name, targets, category, chosen, _modality(frame, targets), classes, limit)


def _classes(column: pd.Series) -> tuple[str, ...]:
    """The labels in order; none if the column holds numbers."""
    values = column.unique()
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        return tuple(sorted(map(str, values)))
    if pd.api.types.is_integer_dtype(column) and len(values) <= _FEW:
        return tuple(map(str, sorted(values)))
    return ()


def _modality(frame: pd.DataFrame, targets: tuple[str, ...]) -> str:
    features = [column for column in frame if column not in (*targets, "id")]
    text = len(features) == 1 and not pd.api.types.is_numeric_dtype(frame[features[0]])
    return "text" if text else "tabular"


def _divide(
    rows: pd.DataFrame, plan: _Plan, fraction: float, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Shuffled training and test rows with new ids; every class in both where it can be."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(rows))
    test = np.zeros(len(rows), dtype=bool)
    labels = rows[plan.targets[0]].astype(str).to_numpy() if plan.classes else None
    for label in plan.classes or ("",):
        members = order if labels is None else order[labels[order] == label]
        test[members[: max(1, round(len(members) * fraction))]] = True
    parts = [rows.iloc[order[~test[order]]], rows.iloc[order[test[order]]]]
    starts = (0, len(parts[0]))
    for part, start in zip(parts, starts, strict=True):
        part.insert(0, "id", np.arange(start, start + len(part)))
    return parts[0].reset_index(drop=True), parts[1].reset_index(drop=True)


def _write(
    source: Path, plan: _Plan, train: pd.DataFrame, test: pd.DataFrame, description: str
) -> None:
    """The source's files, all but the leaderboard."""
    tables = {
        "train": train,
        "test": test.drop(columns=list(plan.targets)),
        "answers": test[["id", *plan.targets]],
    }
    for name, table in tables.items():
        table.to_csv(source / f"{name}.csv", index=False, lineterminator="\n")
    (source / "task.toml").write_text(_toml(plan, train), encoding="utf-8")
    text = _describe(plan, train, test, description)
    (source / "description.md").write_text(text, encoding="utf-8")


def _toml(plan: _Plan, train: pd.DataFrame) -> str:
    keys: dict[str, Any] = {
        "name": plan.name,
        "split": "none",
        "modality": plan.modality,
        "category": plan.category,
        "metric": plan.metric,
        "time_limit": plan.time_limit,
        "id_column": "id",
        "target_columns": list(plan.targets),
    }
    if plan.classes:
        keys["classes"] = list(plan.classes)
    lines = [f"{key} = {_literal(value)}\n" for key, value in keys.items()]
    sample = [f"{_literal(c)} = {_literal(v)}\n" for c, v in _sample(plan, train).items()]
    return "".join([*lines, "\n[sample]\n", *sample])


def _literal(value: Any) -> str:
    """A TOML value; JSON writes texts, numbers and lists of texts alike."""
    return json.dumps(value, ensure_ascii=False)


def _sample(plan: _Plan, train: pd.DataFrame) -> dict[str, str]:
    """A constant answer: class shares, the most frequent class, or the mean."""
    metric = get_metric(plan.metric)
    if metric.kind == "value":
        return {column: f"{train[column].mean():.6g}" for column in plan.targets}
    shares = train[plan.targets[0]].astype(str).value_counts(normalize=True)
    if metric.kind == "label":
        return {plan.targets[0]: str(shares.index[0])}
    if metric.columns == "class":
        return {label: f"{shares.get(label, 0.0):.6g}" for label in plan.classes}
    return {plan.targets[0]: f"{shares.get(plan.classes[1], 0.0):.6g}"}


def _describe(plan: _Plan, train: pd.DataFrame, test: pd.DataFrame, description: str) -> str:
    names = ", ".join(f"`{column}`" for column in plan.targets)
    direction = "higher" if get_metric(plan.metric).higher_is_better else "lower"
    return (
        f"# {plan.name}\n\n{description.strip() or 'Each row is one example.'}\n\n"
        f"## Goal\n\nPredict {names}.\n\n"
        f"## Evaluation\n\n{plan.metric} ({direction} is better).\n\n"
        f"## Files\n\n- `train.csv`: {len(train)} rows\n- `test.csv`: {len(test)} rows without "
        f"{names}\n- `sample_submission.csv`: a valid submission with one constant answer\n\n"
        f"## Submission\n\nWrite `submission.csv` with {len(test)} rows, one for each `id` of "
        "test, in any order.\n"
    )


def _place(folder: str | os.PathLike[str] | None, name: str, source: Path) -> Path:
    from wmrl_envs.autoresearch.catalog import default_cache_dir

    if folder is None:
        return default_cache_dir() / "own" / f"{name}-{digest(source)}"
    place = Path(folder).absolute()
    if place.exists():
        raise ValueError(f"folder must not exist yet, got {str(place)!r}")
    return place


def _scores(
    source: Path,
    plan: _Plan,
    train: pd.DataFrame,
    test: pd.DataFrame,
    leaderboard: Literal["quick"] | Sequence[float],
) -> list[float]:
    if not isinstance(leaderboard, str):
        return [float(score) for score in leaderboard]
    if leaderboard != "quick":
        raise ValueError(f"leaderboard must be 'quick' or a list of scores, got {leaderboard!r}")
    return quick_scores(train, test, source)


def _board(scores: list[float], plan: _Plan) -> str:
    if len(set(scores)) < 2 or not np.isfinite(scores).all():
        raise ValueError(f"leaderboard must hold two different finite scores, got {scores}")
    ordered = sorted(scores, reverse=get_metric(plan.metric).higher_is_better)
    text = io.StringIO()
    pd.DataFrame({"rank": range(1, len(ordered) + 1), "score": ordered}).to_csv(text, index=False)
    return text.getvalue()
