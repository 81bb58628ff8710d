"""A leaderboard in a few seconds: a dozen plain scikit-learn pipelines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from wmrl_envs.autoresearch.answers import AnswerKey, load_answers
from wmrl_envs.autoresearch.spec import TaskSpec, load_spec
from wmrl_envs.autoresearch.table import canonical

__all__ = ["quick_scores"]

_MOST_ROWS: Final = 5000
_WORDS_FROM: Final = 0.5
"""A string column with more different values than this share of its rows is read as words."""


def quick_scores(train: pd.DataFrame, test: pd.DataFrame, source: Path) -> list[float]:
    """Scores of plain pipelines on the score half of the answers.

    Args:
        train: Rows with id, features and targets; at most 5000 of them are used.
        test: Rows with id and features, in the order of the answers.
        source: A folder with ``task.toml`` and ``answers.csv``.

    Returns:
        The finite scores; those that are worse than the first, a constant answer, are left out.
    """
    spec = load_spec(source / "task.toml")
    key = load_answers(source / "answers.csv", spec)
    train = train.head(_MOST_ROWS)
    hidden = [spec.id_column, *spec.target_columns]
    features, tests = (
        _plain(table.drop(columns=hidden, errors="ignore")) for table in (train, test)
    )
    features = features.loc[:, features.notna().any()]
    truth = _targets(train, spec)
    scores = []
    for model in _models(features, bool(spec.classes)):
        try:
            predicted = _predict(model.fit(features, truth), tests, spec)
        except ValueError:  # such as a pipeline that knows one target alone
            continue
        scores.append(_score(key, predicted))
    sign = 1.0 if key.metric.higher_is_better else -1.0
    return [score for score in scores if np.isfinite(score) and sign * (score - scores[0]) >= 0]


def _targets(train: pd.DataFrame, spec: TaskSpec) -> np.ndarray:
    if spec.classes:
        codes = {canonical(label): code for code, label in enumerate(spec.classes)}
        return np.array([codes[canonical(str(v))] for v in train[spec.target_columns[0]]])
    values = train[list(spec.target_columns)].to_numpy(dtype=float)
    return values[:, 0] if values.shape[1] == 1 else values


def _predict(model: Any, tests: pd.DataFrame, spec: TaskSpec) -> np.ndarray:
    """The values that the metric wants; a class that the training rows lack gets none."""
    if not spec.classes:
        return np.asarray(model.predict(tests))
    shares = np.zeros((len(tests), len(spec.classes)))
    shares[:, model.classes_] = model.predict_proba(tests)
    if spec.prediction_columns == spec.classes:
        return shares
    binary = len(spec.classes) == 2 and spec.measure.kind == "probability"
    return shares[:, 1] if binary else shares.argmax(axis=1)


def _score(key: AnswerKey, predicted: np.ndarray) -> float:
    rows = key.halves["score"]
    try:
        return key.metric(key.truth[rows], predicted[rows])
    except ValueError:
        return float("nan")


def _models(features: pd.DataFrame, classes: bool) -> Iterator[Any]:
    from sklearn import dummy, ensemble, linear_model, neighbors, tree
    from sklearn.pipeline import make_pipeline

    if classes:
        yield dummy.DummyClassifier(strategy="prior")
        estimators: list[Any] = [
            linear_model.LogisticRegression(C=c, max_iter=300) for c in (0.001, 0.1, 10.0)
        ]
        estimators += [neighbors.KNeighborsClassifier(k) for k in (1, 10)]
        estimators += [tree.DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 4)]
        estimators += [ensemble.RandomForestClassifier(60, random_state=0)]
        estimators += [ensemble.ExtraTreesClassifier(100, min_samples_leaf=2, random_state=0)]
        estimators += [_boosting(ensemble.HistGradientBoostingClassifier, n) for n in (20, 80)]
    else:
        yield dummy.DummyRegressor()
        estimators = [linear_model.Ridge(alpha) for alpha in (1000.0, 10.0, 0.1)]
        estimators += [neighbors.KNeighborsRegressor(k) for k in (1, 10)]
        estimators += [tree.DecisionTreeRegressor(max_depth=d, random_state=0) for d in (1, 4)]
        estimators += [ensemble.RandomForestRegressor(60, random_state=0)]
        estimators += [ensemble.ExtraTreesRegressor(60, min_samples_leaf=2, random_state=0)]
        estimators += [_boosting(ensemble.HistGradientBoostingRegressor, n) for n in (20, 80)]
    for estimator in estimators:
        yield make_pipeline(_prepared(features), estimator)


def _boosting(kind: Any, rounds: int) -> Any:
    return kind(max_iter=rounds, max_leaf_nodes=12, early_stopping=False, random_state=0)


def _plain(features: pd.DataFrame) -> pd.DataFrame:
    """What every pipeline takes: numbers that are finite or NaN, and texts, "" where missing."""
    return pd.DataFrame({name: _plain_column(features[name]) for name in features})


def _plain_column(column: pd.Series) -> np.ndarray:
    kind = pd.api.types
    if kind.is_numeric_dtype(column) and not kind.is_complex_dtype(column):
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    texts = column.astype(object).where(column.notna(), "")
    return np.array(list(map(str, texts)), dtype=object)


def _prepared(features: pd.DataFrame) -> Any:
    """Scaled numbers, indicators of categories, weights of words; dense."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [c for c in features if pd.api.types.is_numeric_dtype(features[c])]
    strings = [c for c in features if c not in numbers]
    words = [c for c in strings if _are_words(features[c])]
    categories = [c for c in strings if c not in words]
    codes = OneHotEncoder(handle_unknown="ignore", max_categories=30, sparse_output=False)
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    parts = [("numbers", scaled, numbers), ("codes", codes, categories)]
    parts += [(f"words {c}", TfidfVectorizer(max_features=300), c) for c in words]
    return ColumnTransformer(parts, sparse_threshold=0)


def _are_words(column: pd.Series) -> bool:
    many = column.nunique() > _WORDS_FROM * len(column)
    return many and bool(column.str.contains(r"\w\w").any())
