"""Metrics of hard labels; truth and predictions are class codes (N,), int."""

import numpy as np

from wmrl_envs.autoresearch.metrics.metric import sklearn_metrics

__all__ = [
    "accuracy",
    "error_rate",
    "f1",
    "grapheme_recall",
    "macro_f1",
    "mcc",
    "micro_f1",
    "qwk",
]


def accuracy(truth: np.ndarray, labels: np.ndarray) -> float:
    """Share of right labels."""
    return float(sklearn_metrics().accuracy_score(truth, labels))


def error_rate(truth: np.ndarray, labels: np.ndarray) -> float:
    """Share of wrong labels."""
    return float(sklearn_metrics().zero_one_loss(truth, labels))


def macro_f1(truth: np.ndarray, labels: np.ndarray) -> float:
    """F1 averaged over the classes that occur; 0 for a class that is never predicted."""
    return float(sklearn_metrics().f1_score(truth, labels, average="macro", zero_division=0))


def micro_f1(truth: np.ndarray, labels: np.ndarray) -> float:
    """F1 over all decisions; with one label a row it equals the accuracy."""
    return float(sklearn_metrics().f1_score(truth, labels, average="micro", zero_division=0))


def f1(truth: np.ndarray, labels: np.ndarray) -> float:
    """F1 of code 1, the positive class; any other code counts as negative."""
    positive = sklearn_metrics().f1_score(truth == 1, labels == 1, zero_division=0)
    return float(positive)


def mcc(truth: np.ndarray, labels: np.ndarray) -> float:
    """Matthews correlation coefficient; 0 for a constant prediction."""
    return float(sklearn_metrics().matthews_corrcoef(truth, labels))


def qwk(truth: np.ndarray, labels: np.ndarray) -> float:
    """Cohen's kappa with quadratic weights over the codes 0 to the highest, present or not."""
    codes = np.arange(max(truth.max(), labels.max()) + 1)
    return float(
        sklearn_metrics().cohen_kappa_score(truth, labels, labels=codes, weights="quadratic")
    )


def grapheme_recall(truth: np.ndarray, labels: np.ndarray, ids: np.ndarray) -> float:
    """Macro recall of each component of a grapheme, its root counting double.

    Args:
        truth: (N,) codes.
        labels: (N,) codes.
        ids: (N,) texts ``Test_7_grapheme_root``: the component follows the second underscore.
    """
    parts = np.array([name.split("_", 2)[-1] for name in ids])
    names = np.unique(parts)
    recalls = [_macro_recall(truth[parts == name], labels[parts == name]) for name in names]
    return float(np.average(recalls, weights=np.where(names == "grapheme_root", 2, 1)))


def _macro_recall(truth: np.ndarray, labels: np.ndarray) -> float:
    """Over the classes that occur in the truth."""
    recalls = sklearn_metrics().recall_score(
        truth, labels, average="macro", labels=np.unique(truth), zero_division=0
    )
    return float(recalls)
