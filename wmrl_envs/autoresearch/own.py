"""A task of one's own: from a data frame to a folder that the environments can play."""

import io
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from wmrl_envs.autoresearch.answers import load_answers
from wmrl_envs.autoresearch.checks import checked_int
from wmrl_envs.autoresearch.layout import build, digest, is_complete
from wmrl_envs.autoresearch.metrics import get_metric
from wmrl_envs.autoresearch.own_plan import Plan, make_plan, named_by_texts
from wmrl_envs.autoresearch.quick_board import quick_scores
from wmrl_envs.autoresearch.spec import load_spec
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import TaskFormatError

__all__ = ["make_task"]


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
        TypeError: ``frame`` is no data frame, or ``seed`` no integer.
        ValueError: A target is missing from the frame or holds missing or infinite values or one
            alone, there are too few rows, the metric does not suit the target, or the folder
            exists.

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
    if isinstance(leaderboard, str) and leaderboard != "quick":
        raise ValueError(f"leaderboard must be 'quick' or a list of scores, got {leaderboard!r}")
    frame = named_by_texts(frame)
    plan = make_plan(frame, target, name, metric, time_limit)
    rows = frame.drop(columns="id", errors="ignore").reset_index(drop=True)
    train, test = _divide(rows, plan, test_fraction, checked_int("seed", seed, least=0))
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory)
        _write(source, plan, train, test, description)
        _check_answers(source)
        if not isinstance(leaderboard, str):
            _write_board(source, leaderboard, plan)
        place = _place(folder, name, source)
        if not is_complete(place):
            if isinstance(leaderboard, str):
                _write_board(source, _quick(source, train, test), plan)
            build(source, place)
    return Task.from_folder(place)


def _divide(
    rows: pd.DataFrame, plan: Plan, fraction: float, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Shuffled training and test rows with new ids; every class in both where it can be."""
    if not 0 < fraction < 1:
        raise ValueError(f"test_fraction must lie between 0 and 1, got {fraction!r}")
    order = np.random.default_rng(seed).permutation(len(rows))
    test = np.zeros(len(rows), dtype=bool)
    labels = rows[plan.targets[0]].astype(str).to_numpy() if plan.classes else None
    for label in plan.classes or ("",):
        members = order if labels is None else order[labels[order] == label]
        # At least one row is left to learn from.
        test[members[: min(max(1, round(len(members) * fraction)), len(members) - 1)]] = True
    if not test.any():
        raise ValueError(f"target {plan.targets[0]!r} must hold a class twice, got different ones")
    parts = [rows.iloc[order[~test[order]]], rows.iloc[order[test[order]]]]
    starts = (0, len(parts[0]))
    for part, start in zip(parts, starts, strict=True):
        part.insert(0, "id", np.arange(start, start + len(part)))
    return parts[0].reset_index(drop=True), parts[1].reset_index(drop=True)


def _write(
    source: Path, plan: Plan, train: pd.DataFrame, test: pd.DataFrame, description: str
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


def _toml(plan: Plan, train: pd.DataFrame) -> str:
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


def _sample(plan: Plan, train: pd.DataFrame) -> dict[str, str]:
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


def _describe(plan: Plan, train: pd.DataFrame, test: pd.DataFrame, description: str) -> str:
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


def _check_answers(source: Path) -> None:
    """Are the answers such that both of their halves can be graded?"""
    try:
        load_answers(source / "answers.csv", load_spec(source / "task.toml"))
    except TaskFormatError as error:
        said = str(error).replace(f"{source}{os.sep}", "")
        raise ValueError(f"the arguments make no task that can be graded: {said}") from None


def _quick(source: Path, train: pd.DataFrame, test: pd.DataFrame) -> list[float]:
    scores = quick_scores(train, test, source)
    if len(set(scores)) < 2:
        raise ValueError(
            "leaderboard 'quick' found nothing better than a constant answer in the features "
            f"{list(train)[1:][:20]}: give a list of scores"
        )
    return scores


def _write_board(source: Path, leaderboard: Sequence[float], plan: Plan) -> None:
    try:
        scores = [float(score) for score in leaderboard]
    except (TypeError, ValueError):
        raise ValueError(
            f"leaderboard must be 'quick' or a list of scores, got {leaderboard!r:.200}"
        ) from None
    (source / "leaderboard.csv").write_text(_board(scores, plan), encoding="utf-8")


def _board(scores: list[float], plan: Plan) -> str:
    if len(set(scores)) < 2 or not np.isfinite(scores).all():
        raise ValueError(f"leaderboard must hold two different finite scores, got {scores}")
    ordered = sorted(scores, reverse=get_metric(plan.metric).higher_is_better)
    text = io.StringIO()
    pd.DataFrame({"rank": range(1, len(ordered) + 1), "score": ordered}).to_csv(text, index=False)
    return text.getvalue()
