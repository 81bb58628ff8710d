"""The metric registry: name -> function, direction, and what a submission has to hold."""

from typing import Final

from wmrl_envs.autoresearch.metrics import labels, ranking, texts, values
from wmrl_envs.autoresearch.metrics.metric import Metric

__all__ = ["METRICS", "get_metric"]

_SMAPE: Final = (
    "MLE-Dojo and Kaggle report percent (0 to 200); DSBench does so too but for "
    "playground-series-s3e19, where it reports a fraction (0 to 2): smape_fraction."
)
_MAP3: Final = (
    "MLE-Dojo scores playground-series-s3e13 by the reciprocal rank (map_at_3), DSBench by the "
    "share of hits among the first three (mpa3)."
)
_MSE: Final = (
    "DSBench scores tabular-playground-series-mar-2022 by the mean squared error, MLE-Dojo and "
    "Kaggle by the mean absolute error: such a score has no place on the Kaggle board."
)

METRICS: Final[dict[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", labels.accuracy, True, "label"),
        Metric("error_rate", labels.error_rate, False, "label"),
        Metric("macro_f1", labels.macro_f1, True, "label"),
        Metric("micro_f1", labels.micro_f1, True, "label"),
        Metric("f1", labels.f1, True, "label"),
        Metric("mcc", labels.mcc, True, "label"),
        Metric("qwk", labels.qwk, True, "label", ordinal=True),
        Metric("grapheme_recall", labels.grapheme_recall, True, "label", extra="id"),
        Metric("auc", ranking.auc, True, "probability"),
        Metric("col_auc", ranking.col_auc, True, "probability"),
        Metric("avg_precision", ranking.avg_precision, True, "probability"),
        Metric("lwlrap", ranking.lwlrap, True, "probability"),
        Metric("logloss", ranking.logloss, False, "probability", unit_interval=True),
        Metric("mlogloss", ranking.mlogloss, False, "probability", "class", unit_interval=True),
        Metric(
            "balanced_logloss",
            ranking.balanced_logloss,
            False,
            "probability",
            "class",
            unit_interval=True,
        ),
        Metric("map3", ranking.map3, True, "probability", "class"),
        Metric("ndcg5", ranking.ndcg5, True, "probability", "class"),
        Metric("kl", ranking.kl, False, "value"),
        Metric("rmse", values.rmse, False, "value"),
        Metric("mse", values.mse, False, "value", note=_MSE),
        Metric("rmsle", values.rmsle, False, "value"),
        Metric("log_rmse", values.log_rmse, False, "value"),
        Metric("mcrmse", values.mcrmse, False, "value"),
        Metric("mcrmsle", values.mcrmsle, False, "value"),
        Metric("mae", values.mae, False, "value", note=_MSE),
        Metric("medae", values.medae, False, "value"),
        Metric("wmae", values.wmae, False, "value", extra="weight"),
        Metric("group_log_mae", values.group_log_mae, False, "value", extra="group"),
        Metric("rmspe", values.rmspe, False, "value"),
        Metric("smape", values.smape, False, "value", note=_SMAPE),
        Metric("smape_fraction", values.smape_fraction, False, "value", note=_SMAPE),
        Metric("r2", values.r2, True, "value"),
        Metric("gini", values.gini, True, "value"),
        Metric("spearman", values.spearman, True, "value"),
        Metric("pearson", values.pearson, True, "value"),
        Metric("kendall", values.kendall, True, "value"),
        Metric("map_at_3", texts.map_at_3, True, "text", note=_MAP3),
        Metric("map_at_5", texts.map_at_5, True, "text"),
        Metric("map_at_12", texts.map_at_12, True, "text"),
        Metric("mpa3", texts.mpa3, True, "text", note=_MAP3),
        Metric("row_f1", texts.row_f1, True, "text"),
        Metric("tag_f1", texts.tag_f1, True, "text"),
        Metric("span_f1", texts.span_f1, True, "text"),
        Metric("jaccard", texts.jaccard, True, "text"),
        Metric("levenshtein", texts.levenshtein, False, "text"),
        Metric("kendall_orders", texts.kendall_orders, True, "text"),
    )
}


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
