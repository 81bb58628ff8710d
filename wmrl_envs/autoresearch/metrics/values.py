"""Metrics of numbers; truth and predictions are (N,) or (N, targets) floats."""

import numpy as np

from wmrl_envs.autoresearch.metrics.metric import sklearn_metrics

__all__ = [
    "gini",
    "group_log_mae",
    "kendall",
    "log_rmse",
    "mae",
    "mcrmse",
    "mcrmsle",
    "medae",
    "mse",
    "pearson",
    "r2",
    "rmse",
    "rmsle",
    "rmspe",
    "smape",
    "smape_fraction",
    "spearman",
    "wmae",
]

_SMALLEST_ERROR = 1e-9


def rmse(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error."""
    return float(sklearn_metrics().root_mean_squared_error(truth, values))


def mse(truth: np.ndarray, values: np.ndarray) -> float:
    """Mean squared error."""
    return float(sklearn_metrics().mean_squared_error(truth, values))


def rmsle(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error of log(1 + value); negative predictions count as 0."""
    return float(sklearn_metrics().root_mean_squared_log_error(truth, np.clip(values, 0, None)))


def log_rmse(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error of log(value).

    Raises:
        ValueError: A prediction is not positive.
    """
    if (values <= 0).any():
        raise ValueError("every prediction must be positive: the metric takes its logarithm")
    return rmse(np.log(truth), np.log(values))


def mae(truth: np.ndarray, values: np.ndarray) -> float:
    """Mean absolute error."""
    return float(sklearn_metrics().mean_absolute_error(truth, values))


def medae(truth: np.ndarray, values: np.ndarray) -> float:
    """Median absolute error."""
    return float(sklearn_metrics().median_absolute_error(truth, values))


def wmae(truth: np.ndarray, values: np.ndarray, weights: np.ndarray) -> float:
    """Mean absolute error with the answers' weights, (N,)."""
    return float(sklearn_metrics().mean_absolute_error(truth, values, sample_weight=weights))


def group_log_mae(truth: np.ndarray, values: np.ndarray, groups: np.ndarray) -> float:
    """The logarithm of the mean absolute error of each group, averaged over the groups, (N,)."""
    errors = np.abs(truth - values)
    means = [errors[groups == group].mean() for group in np.unique(groups)]
    return float(np.log(np.maximum(means, _SMALLEST_ERROR)).mean())


def rmspe(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error relative to the truth; rows whose truth is 0 do not count."""
    known = truth != 0
    return float(np.sqrt(np.mean(((truth[known] - values[known]) / truth[known]) ** 2)))


def smape(truth: np.ndarray, values: np.ndarray) -> float:
    """Symmetric mean absolute percentage error, 0 to 200; 0 against 0 is no error."""
    return 100.0 * smape_fraction(truth, values)


def smape_fraction(truth: np.ndarray, values: np.ndarray) -> float:
    """Symmetric mean absolute error as a fraction, 0 to 2; 0 against 0 is no error."""
    size = np.abs(truth) + np.abs(values)
    errors = 2 * np.abs(truth - values) / np.where(size == 0, 1, size)
    return float(errors.mean())


def r2(truth: np.ndarray, values: np.ndarray) -> float:
    """Coefficient of determination."""
    return float(sklearn_metrics().r2_score(truth, values))


def gini(truth: np.ndarray, values: np.ndarray) -> float:
    """Gini coefficient over that of a perfect order; ties share their ranks.

    For truths of 0 and 1 it equals 2 AUC - 1.
    """
    from scipy.stats import rankdata

    centred = truth - truth.mean()
    return float(centred @ rankdata(values) / (centred @ rankdata(truth)))


def spearman(truth: np.ndarray, values: np.ndarray) -> float:
    """Spearman's rank correlation, averaged over the columns; 0 for a constant column."""
    from scipy.stats import rankdata

    return _mean_correlation(rankdata(truth, axis=0), rankdata(values, axis=0))


def pearson(truth: np.ndarray, values: np.ndarray) -> float:
    """Pearson's correlation, averaged over the columns; 0 for a constant column."""
    return _mean_correlation(truth, values)


def kendall(truth: np.ndarray, values: np.ndarray) -> float:
    """Kendall's tau-b; 0 for a constant prediction."""
    from scipy.stats import kendalltau

    return float(np.nan_to_num(kendalltau(truth, values).statistic))


def _mean_correlation(truth: np.ndarray, values: np.ndarray) -> float:
    columns = (array.reshape(len(array), -1).T for array in (truth, values))
    return float(np.mean([_correlation(a, b) for a, b in zip(*columns, strict=True)]))


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    from scipy.stats import pearsonr

    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(pearsonr(a, b).statistic)


def mcrmse(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error of each column, averaged over the columns."""
    return float(np.mean(_column_rmse(truth, values)))


def mcrmsle(truth: np.ndarray, values: np.ndarray) -> float:
    """Root mean squared error of log(1 + value) of each column, averaged; negatives count as 0."""
    return float(np.mean(_column_rmse(np.log1p(truth), np.log1p(np.clip(values, 0, None)))))


def _column_rmse(truth: np.ndarray, values: np.ndarray) -> np.ndarray:
    error = sklearn_metrics().root_mean_squared_error
    return np.asarray(error(truth, values, multioutput="raw_values"))
