"""Metrics: the registry, and metrics of one's own.

Truth reaches a metric as an array in the order of the answers: class codes (positions in the list
of classes) for labels and for the probability of one target, numbers for values, texts for texts.
"""

from wmrl_envs.autoresearch.metrics.metric import (
    Columns,
    Extra,
    Metric,
    PredictionKind,
    user_metric,
)
from wmrl_envs.autoresearch.metrics.registry import METRICS, get_metric

__all__ = ["METRICS", "Columns", "Extra", "Metric", "PredictionKind", "get_metric", "user_metric"]
