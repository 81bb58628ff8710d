"""The metrics agree with values computed by hand."""

import math

import numpy as np
import pytest

from wmrl_envs.autoresearch.metrics import METRICS, get_metric

TRUTH = np.array([0, 0, 1, 1])
LOG = math.log

BY_HAND = [
    ("accuracy", [0, 1, 2, 2], [0, 1, 1, 2], 3 / 4),
    # Class 0: F1 1; class 1: precision 1/2, recall 1; class 2: precision 1, recall 1/2.
    ("macro_f1", [0, 1, 2, 2], [0, 1, 1, 2], (1 + 2 / 3 + 2 / 3) / 3),
    # TP 1, TN 2, FP 0, FN 1: (1*2 - 0*1) / sqrt(1*2*2*3).
    ("mcc", [0, 0, 1, 1], [0, 0, 0, 1], 2 / math.sqrt(12)),
    ("mcc", [0, 0, 1, 1], [1, 1, 1, 1], 0.0),
    ("auc", [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 3 / 4),
    ("auc", [0, 0, 1, 1], [-7.0, -7.0, -7.0, 1e9], 3 / 4),
    # Positives at ranks 1 and 3: (1/2)(1) + (1/2)(2/3).
    ("avg_precision", [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 1 / 2 + 1 / 3),
    ("logloss", [0, 1], [0.25, 0.5], -(LOG(0.75) + LOG(0.5)) / 2),
    ("logloss", [0, 1], [1.0, 1.0], -LOG(1 - (1 - 1e-15)) / 2),
    ("mlogloss", [0, 2], [[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], -(LOG(0.5) + LOG(0.8)) / 2),
    ("mlogloss", [0, 2], [[1.0, 0.5, 0.5], [0.0, 0.0, 0.4]], -LOG(0.5) / 2),
    ("map3", [0, 1, 2, 3], [[9, 1, 2, 3], [4, 3, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1]],
     (1 + 1 / 2 + 1 / 3 + 0) / 4),
    ("map3", [1], [[0.5, 0.5]], 1 / 2),
    ("rmse", [1.0, 2.0, 3.0], [1.0, 4.0, 3.0], math.sqrt(4 / 3)),
    ("mae", [1.0, 2.0, 3.0], [1.0, 4.0, 2.0], 1.0),
    ("rmsle", [math.e - 1, 0.0], [0.0, 0.0], math.sqrt(1 / 2)),
    ("rmsle", [0.0, 0.0], [-5.0, 0.0], 0.0),
    ("mcrmse", [[0.0, 0.0], [0.0, 0.0]], [[3.0, 1.0], [3.0, 1.0]], 2.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "truth", "prediction", "value"), BY_HAND)
def test_a_metric_has_the_value_computed_by_hand(
    name: str, truth: list, prediction: list, value: float
) -> None:
    assert get_metric(name)(np.array(truth), np.array(prediction)) == pytest.approx(value)


def test_quadratic_kappa_counts_the_squared_distance_of_the_codes() -> None:
    # Observed disagreement: one pair two steps apart, 4. Expected: the outer product of the
    # histograms (2, 0, 2) and (3, 0, 1) over 4, times the squared distances: (2*1 + 2*3) * 4 / 4.
    value = get_metric("qwk")(np.array([0, 0, 2, 2]), np.array([0, 0, 0, 2]))
    assert value == pytest.approx(1 - 4 / 8)


def test_quadratic_kappa_knows_codes_that_do_not_occur() -> None:
    near = get_metric("qwk")(np.array([0, 0, 3, 3]), np.array([0, 1, 3, 3]))
    far = get_metric("qwk")(np.array([0, 0, 3, 3]), np.array([0, 2, 3, 3]))
    assert near > far


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_better_prediction_scores_better_in_the_metric_s_direction(name: str) -> None:
    metric = get_metric(name)
    if metric.columns == "class":
        good, bad = np.eye(2)[TRUTH], np.eye(2)[[0, 1, 0, 0]]
    elif metric.kind == "value":
        good, bad = TRUTH.astype(float), np.array([1.0, 0.0, 0.0, 0.5])
    else:
        good, bad = TRUTH, np.array([0, 1, 0, 0])
    if name == "mcrmse":
        truth, good, bad = (np.stack([x, x], axis=1) for x in (TRUTH, good, bad))
    else:
        truth = TRUTH
    better = metric(truth, good) > metric(truth, bad)
    assert better == metric.higher_is_better


def test_numbers_too_large_for_the_metric_give_no_finite_score() -> None:
    assert not math.isfinite(get_metric("rmse")(np.zeros(2), np.full(2, 1e300)))


def test_an_unknown_metric_is_named_in_the_error() -> None:
    with pytest.raises(ValueError, match=r"metric must be one of .*, got 'f7'"):
        get_metric("f7")
