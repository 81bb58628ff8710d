"""An entry of a leaderboard: a named pipeline that predicts the test rows.

All entries speak one language, the *soft prediction*: (M, classes) probabilities for tasks with
classes, (M,) or (M, targets) numbers for the others, (M,) surprise for novelty. So entries of any
kind can be averaged, and a decision rule turns the result into a submission.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline

from task_data.problem import Problem

__all__ = ["Blend", "Entry", "blends", "decide", "fit_predict", "fitted", "trivial"]


@dataclass(frozen=True)
class Entry:
    """A pipeline.

    Attributes:
        name: What it is called on the board.
        predict: Problem -> soft prediction.
        rule: How soft predictions become labels: ``likeliest``, ``expected`` (the rounded mean of
            the codes) or a threshold of the positive class such as ``0.4``.
    """

    name: str
    predict: Callable[[Problem], np.ndarray]
    rule: str = "likeliest"


@dataclass(frozen=True)
class Blend:
    """The mean of other entries' soft predictions.

    Attributes:
        name: What it is called on the board.
        members: Names of entries.
        rule: See :class:`Entry`.
    """

    name: str
    members: tuple[str, ...]
    rule: str = "likeliest"

    def predict(self, soft: dict[str, np.ndarray]) -> np.ndarray:
        """The mean; of ranks, if the predictions are surprises."""
        return np.asarray(np.mean([soft[name] for name in self.members], axis=0))


def decide(soft: np.ndarray, problem: Problem, rule: str) -> np.ndarray:
    """The submission's values that a soft prediction leads to."""
    metric = problem.metric
    if metric.kind == "value" or metric.columns == "class" or soft.ndim == 1:
        return soft
    if metric.kind == "probability":
        return soft[:, 1]
    if rule == "likeliest":
        return soft.argmax(axis=1)
    if rule == "expected":
        return np.rint(soft @ np.arange(soft.shape[1])).astype(int)
    return (soft[:, 1] > float(rule)).astype(int)


def fitted(name: str, classifier: Any, regressor: Any, *steps: Any, features: str = "") -> Entry:
    """An entry that fits a scikit-learn estimator behind preprocessing steps.

    Args:
        name: The entry's name.
        classifier: For tasks with classes; None if the entry suits none.
        regressor: For the others; None if the entry suits none.
        steps: Transformers before it.
        features: A key of the problem's cache that holds (train, test) features; "": raw rows.
    """

    def predict(problem: Problem) -> np.ndarray:
        train, test = problem.cache[features] if features else (problem.train, problem.test)
        estimator = classifier if problem.classifies else regressor
        return fit_predict(
            problem, make_pipeline(*map(clone, steps), clone(estimator)), train, test
        )

    return Entry(name, predict)


def fit_predict(problem: Problem, model: Any, train: Any, test: Any) -> np.ndarray:
    """Fits a pipeline on the training rows; the soft prediction of the test rows."""
    if not problem.classifies:
        return _regress(problem, model, train, test)
    model = _with_probabilities(problem, model).fit(train, problem.labels)
    classes = len(problem.spec.classes)
    if not hasattr(model, "predict_proba"):
        return np.eye(classes)[model.predict(test)]
    soft = np.zeros((len(problem.ids), classes))
    soft[:, model.classes_] = model.predict_proba(test)
    return soft


def _with_probabilities(problem: Problem, model: Any) -> Any:
    """Calibrates a classifier without probabilities where the metric wants them."""
    if hasattr(model[-1], "predict_proba") or problem.metric.kind == "label":
        return model
    return CalibratedClassifierCV(model, cv=3, ensemble=False)


def _regress(problem: Problem, model: Any, train: Any, test: Any) -> np.ndarray:
    if problem.spec.metric == "rmsle":
        model = TransformedTargetRegressor(model, func=np.log1p, inverse_func=np.expm1)
    soft = np.asarray(model.fit(train, problem.labels).predict(test), dtype=float)
    return soft[:, 0] if soft.ndim == 2 and problem.labels.ndim == 1 else soft


def trivial(problem: Problem) -> np.ndarray:
    """The best constant answer that the training targets suggest."""
    if problem.target is None:
        return np.zeros(len(problem.ids))
    if problem.classifies:
        share = np.bincount(problem.target, minlength=len(problem.spec.classes))
        return np.tile(share / share.sum(), (len(problem.ids), 1))
    if problem.spec.metric == "mae":
        return np.full(len(problem.ids), np.median(problem.target))
    if problem.spec.metric == "rmsle":
        return np.full(len(problem.ids), np.expm1(np.log1p(problem.target).mean()))
    mean = problem.target.mean(axis=0)
    return (
        np.full(len(problem.ids), mean) if mean.ndim == 0 else np.tile(mean, (len(problem.ids), 1))
    )


def blends(
    names: Sequence[str], count: int, seed: int, rules: Sequence[str] = ("likeliest",)
) -> list[Blend]:
    """Averages of two to six entries, drawn without a look at any score."""
    generator = np.random.default_rng(seed)
    chosen: list[Blend] = []
    for index in range(count):
        size = min(int(generator.integers(2, 7)), len(names))
        members = tuple(sorted(generator.choice(list(names), size, replace=False)))
        rule = rules[index % len(rules)]
        note = "" if rule == "likeliest" else f" ({rule})"
        chosen.append(Blend(f"blend of {size} #{index}{note}", members, rule))
    return chosen
