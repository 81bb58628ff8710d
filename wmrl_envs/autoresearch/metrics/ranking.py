"""Metrics of probabilities and of scores that order the rows.

Truth is (N,) class codes, or (N, targets) of 0 and 1; predictions are (N,), (N, targets) or
(N, classes) floats.
"""

from typing import Final

import numpy as np

from wmrl_envs.autoresearch.metrics.metric import sklearn_metrics

__all__ = [
    "auc",
    "avg_precision",
    "balanced_logloss",
    "col_auc",
    "kl",
    "logloss",
    "lwlrap",
    "map3",
    "mlogloss",
    "ndcg5",
]

_SMALLEST: Final = 1e-15


def auc(truth: np.ndarray, scores: np.ndarray) -> float:
    """Area under the ROC curve of code 1 against code 0."""
    return float(sklearn_metrics().roc_auc_score(truth, scores))


def col_auc(truth: np.ndarray, scores: np.ndarray) -> float:
    """The AUC of each column, averaged; columns that hold one class are left out.

    A negative truth marks a cell that does not count.

    Raises:
        ValueError: Every column holds one class.
    """
    truth, scores = (array.reshape(len(array), -1) for array in (truth, scores))
    scored = [
        auc(truth[known, column], scores[known, column])
        for column, known in enumerate((truth >= 0).T)
        if len(np.unique(truth[known, column])) == 2
    ]
    if not scored:
        raise ValueError("every target column holds a single class")
    return float(np.mean(scored))


def avg_precision(truth: np.ndarray, scores: np.ndarray) -> float:
    """Average precision of code 1."""
    return float(sklearn_metrics().average_precision_score(truth, scores))


def logloss(truth: np.ndarray, probability: np.ndarray) -> float:
    """Binary logarithmic loss; probabilities are clipped to [1e-15, 1 - 1e-15]."""
    clipped = np.clip(probability, _SMALLEST, 1 - _SMALLEST)
    return float(sklearn_metrics().log_loss(truth, clipped, labels=[0, 1]))


def mlogloss(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Multi-class logarithmic loss; rows are rescaled to sum to 1 and clipped at 1e-15."""
    return float(_losses(truth, probabilities).mean())


def balanced_logloss(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Logarithmic loss averaged within each class that occurs, then over the classes."""
    losses = _losses(truth, probabilities)
    return float(np.mean([losses[truth == code].mean() for code in np.unique(truth)]))


def _losses(truth: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    scaled = probabilities / probabilities.sum(axis=1, keepdims=True)
    picked = scaled[np.arange(len(truth)), truth]
    return np.asarray(-np.log(np.clip(picked, _SMALLEST, 1.0)))


def map3(truth: np.ndarray, scores: np.ndarray) -> float:
    """Mean average precision at 3 with one right class a row; ties go to the first column."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    hits = best == truth[:, None]
    return float((hits / np.arange(1, best.shape[1] + 1)).sum(axis=1).mean())


def ndcg5(truth: np.ndarray, scores: np.ndarray) -> float:
    """Normalised discounted cumulative gain at 5 with one right class a row."""
    relevant = np.eye(scores.shape[1])[truth]
    return float(sklearn_metrics().ndcg_score(relevant, scores, k=5))


def lwlrap(truth: np.ndarray, scores: np.ndarray) -> float:
    """Label-weighted label ranking average precision; rows without a label do not count."""
    rows = truth.sum(axis=1) > 0
    weights = truth[rows].sum(axis=1)
    precision = sklearn_metrics().label_ranking_average_precision_score
    return float(precision(truth[rows], scores[rows], sample_weight=weights))


def kl(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Kullback-Leibler divergence of the predicted distribution from the true one, (N, classes)."""
    target = truth / truth.sum(axis=1, keepdims=True)
    scaled = probabilities / probabilities.sum(axis=1, keepdims=True)
    ratio = np.log(np.clip(target, _SMALLEST, 1.0)) - np.log(np.clip(scaled, _SMALLEST, 1.0))
    return float((target * ratio).sum(axis=1).mean())
