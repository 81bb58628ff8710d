"""The metric registry: name, function, direction, and what a submission has to hold.

Truth reaches a metric as an array in the order of the answers: class codes (positions in the task's
list of classes) for label and probability metrics, numbers for value metrics.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

__all__ = [
    "METRICS",
    "Columns",
    "Metric",
    "PredictionKind",
    "accuracy",
    "auc",
    "avg_precision",
    "get_metric",
    "logloss",
    "macro_f1",
    "mae",
    "map3",
    "mcc",
    "mcrmse",
    "mlogloss",
    "qwk",
    "rmse",
    "rmsle",
]

PredictionKind = Literal["label", "probability", "value"]
Columns = Literal["target", "class"]

_SMALLEST: Final = 1e-15


@dataclass(frozen=True)
class Metric:
    """One metric of the registry.

    Attributes:
        name: The registry's key.
        function: ``(truth, prediction) -> float``. Truth is (N,) or (N, targets); prediction has
            the same shape, or (N, classes) when ``columns`` is ``"class"``.
        higher_is_better: The direction.
        kind: ``label`` (hard class predictions), ``probability`` or ``value``.
        columns: ``target``: one column for each target; ``class``: one column for each class.
        unit_interval: The predictions have to lie in [0, 1]. Metrics that look at nothing but the
            order of the predictions take any finite number.
    """

    name: str
    function: Callable[[np.ndarray, np.ndarray], float]
    higher_is_better: bool
    kind: PredictionKind
    columns: Columns = "target"
    unit_interval: bool = False

    def __call__(self, truth: np.ndarray, prediction: np.ndarray) -> float:
        """Scores a prediction; infinite or NaN where the numbers overflow."""
        with np.errstate(all="ignore"):
            return float(self.function(truth, prediction))


def get_metric(name: str) -> Metric:
    """Looks a metric up.

    Raises:
        ValueError: The registry has no such metric.

    Example:
        >>> get_metric("rmse").higher_is_better
        False
    """
    if name not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(sorted(METRICS))}, got {name!r}")
    return METRICS[name]


def _sklearn() -> Any:
    """scikit-learn's metrics, loaded at the first grading: the import takes a second."""
    import sklearn.metrics

    return sklearn.metrics


def accuracy(truth: np.ndarray, labels: np.ndarray) -> float:
    """Share of right labels."""
    return float(_sklearn().accuracy_score(truth, labels))


def macro_f1(truth: np.ndarray, labels: np.ndarray) -> float:
    """F1 averaged over the classes that occur; 0 for a class that is never predicted."""
    return float(_sklearn().f1_score(truth, labels, average="macro", zero_division=0))


def mcc(truth: np.ndarray, labels: np.ndarray) -> float:
    """Matthews correlation coefficient; 0 for a constant prediction."""
    return float(_sklearn().matthews_corrcoef(truth, labels))


def qwk(truth: np.ndarray, labels: np.ndarray) -> float:
    """Cohen's kappa with quadratic weights over the codes 0 to the highest, present or not."""
    codes = np.arange(max(truth.max(), labels.max()) + 1)
    return float(_sklearn().cohen_kappa_score(truth, labels, labels=codes, weights="quadratic"))


def auc(truth: np.ndarray, scores: np.ndarray) -> float:
    """Area under the ROC curve of code 1 against code 0."""
    return float(_sklearn().roc_auc_score(truth, scores))


def avg_precision(truth: np.ndarray, scores: np.ndarray) -> float:
    """Average precision of code 1."""
    return float(_sklearn().average_precision_score(truth, scores))


def logloss(truth: np.ndarray, probability: np.ndarray) -> float:
    """Binary logarithmic loss; probabilities are clipped to [1e-15, 1 - 1e-15]."""
    clipped = np.clip(probability, _SMALLEST, 1 - _SMALLEST)
    return float(_sklearn().log_loss(truth, clipped, labels=[0, 1]))


def mlogloss(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Multi-class logarithmic loss; rows are rescaled to sum to 1 and clipped at 1e-15."""
    scaled = probabilities / probabilities.sum(axis=1, keepdims=True)
    picked = scaled[np.arange(len(truth)), truth]
    return float(-np.log(np.clip(picked, _SMALLEST, 1.0)).mean())


def map3(truth: np.ndarray, scores: np.ndarray) -> float:
    """Mean average precision at 3 with one right class a row; ties go to the first column."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    hits = best == truth[:, None]
    return float((hits / np.arange(1, best.shape[1] + 1)).sum(axis=1).mean())


def rmse(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error."""
    return float(_sklearn().root_mean_squared_error(truth, values))


def rmsle(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error of log(1 + value); negative predictions count as 0."""
    return float(_sklearn().root_mean_squared_log_error(truth, np.clip(values, 0, None)))


def mae(truth: np.ndarray, values: np.ndarray) -> float:
    """Mean absolute error."""
    return float(_sklearn().mean_absolute_error(truth, values))


def mcrmse(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error of each column, averaged over the columns."""
    errors = _sklearn().root_mean_squared_error(truth, values, multioutput="raw_values")
    return float(np.mean(errors))


METRICS: Final[dict[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", accuracy, True, "label"),
        Metric("macro_f1", macro_f1, True, "label"),
        Metric("mcc", mcc, True, "label"),
        Metric("qwk", qwk, True, "label"),
        Metric("auc", auc, True, "probability"),
        Metric("avg_precision", avg_precision, True, "probability"),
        Metric("logloss", logloss, False, "probability", unit_interval=True),
        Metric("mlogloss", mlogloss, False, "probability", "class", unit_interval=True),
        Metric("map3", map3, True, "probability", "class"),
        Metric("rmse", rmse, False, "value"),
        Metric("rmsle", rmsle, False, "value"),
        Metric("mae", mae, False, "value"),
        Metric("mcrmse", mcrmse, False, "value"),
    )
}
