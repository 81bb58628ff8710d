"""The metrics agree with values computed by hand."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wmrl_envs.autoresearch.metrics import METRICS, Metric, get_metric, user_metric

TRUTH = np.array([0, 0, 1, 1])
LISTS = ("map_at_3", "map_at_5", "map_at_12", "mpa3")
ORDERED = ("kendall_orders", "levenshtein", "span_f1")
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
    ("error_rate", [0, 1, 2, 2], [0, 1, 1, 2], 1 / 4),
    ("micro_f1", [0, 1, 2, 2], [0, 1, 1, 2], 3 / 4),
    # TP 1, FP 1, FN 1.
    ("f1", [0, 0, 1, 1], [0, 1, 1, 0], 2 / 4),
    ("f1", [0, 0, 1, 1], [0, 0, 1, 7], 2 / 3),
    # Column 0: 3/4; column 1 holds one class; column 2 without its unknown cell: 1.
    ("col_auc", [[0, 1, 0], [0, 1, 1], [1, 1, -1], [1, 1, 1]],
     [[0.1, 0, 0.1], [0.4, 0, 0.2], [0.35, 0, 0], [0.8, 0, 0.3]], (3 / 4 + 1) / 2),
    # Class 0 twice, class 1 once: the mean of the two means.
    ("balanced_logloss", [0, 0, 1], [[0.5, 0.5], [0.25, 0.75], [0.2, 0.8]],
     -((LOG(0.5) + LOG(0.25)) / 2 + LOG(0.8)) / 2),
    ("ndcg5", [0, 1], [[0.9, 0.1], [0.9, 0.1]], (1 + 1 / math.log2(3)) / 2),
    # Row 1 has two labels at ranks 1 and 2, row 2 one at rank 2, row 3 none: (1 + 1 + 1/2) / 3.
    ("lwlrap", [[1, 1], [0, 1], [0, 0]], [[2, 1], [2, 1], [2, 1]], 2.5 / 3),
    ("kl", [[1, 1], [0, 2]], [[0.5, 0.5], [0.5, 0.5]], LOG(2) / 2),
    ("mse", [1.0, 2.0], [1.0, 4.0], 2.0),
    ("log_rmse", [1.0, math.e], [1.0, 1.0], math.sqrt(1 / 2)),
    ("mcrmsle", [[0.0, math.e - 1], [0.0, math.e - 1]], [[0.0, 0.0], [0.0, -3.0]], 1 / 2),
    ("medae", [0.0, 0.0, 0.0], [1.0, 2.0, 9.0], 2.0),
    ("rmspe", [2.0, 0.0], [1.0, 5.0], 1 / 2),
    # |1 - 3| / 2 and 0 against 0.
    ("smape", [1.0, 0.0], [3.0, 0.0], 50.0),
    ("smape_fraction", [1.0, 0.0], [3.0, 0.0], 0.5),
    ("r2", [0.0, 2.0], [0.0, 1.0], 1 / 2),
    ("gini", [0.0, 0.0, 1.0, 1.0], [0.1, 0.4, 0.35, 0.8], 2 * 3 / 4 - 1),
    # Ranks 1 2 3 against 1 3 2, truth 1 2 6 centred -2 -1 3: (-2 - 3 + 6) / (-2 - 2 + 9).
    ("gini", [1.0, 2.0, 6.0], [0.0, 9.0, 5.0], 1 / 5),
    # Ranks 1 2 3 against 1 3 2: 1 - 6 * 2 / (3 * 8).
    ("spearman", [1.0, 2.0, 9.0], [1.0, 100.0, 10.0], 1 / 2),
    ("spearman", [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]], 1 / 2),
    ("pearson", [1.0, 2.0, 3.0], [1.0, 3.0, 2.0], 1 / 2),
    # Two concordant pairs, one discordant.
    ("kendall", [1.0, 2.0, 3.0], [1.0, 3.0, 2.0], 1 / 3),
    ("kendall", [1.0, 2.0, 3.0], [5.0, 5.0, 5.0], 0.0),
    ("map_at_3", ["a", "b", "c d", "e"], ["a b", "a b", "c x d", "f g h e"],
     (1 + 1 / 2 + (1 + 2 / 3) / 2 + 0) / 4),
    ("map_at_3", ["a"], ["b b a"], 1 / 3),
    ("map_at_5", ["e"], ["f g h e"], 1 / 4),
    ("map_at_12", ["e"], ["f g h e"], 1 / 4),
    ("mpa3", ["a", "b", "e"], ["a b", "a b", "f g h e"], 2 / 3),
    # Precision 1/2, recall 1/3; both empty; nothing in common.
    ("row_f1", ["a b c", "", "a"], ["a x", "", "x"], (2 / 5 + 1 + 0) / 3),
    ("tag_f1", ["a b c", "", "a"], ["a x", "", "x"], 2 / 7),
    # 5 and 4 characters, 3 in common; the second row agrees.
    ("span_f1", ["0 5", "['7 8', '9 10']"], ["2 4;4 6", "7 8;9 10"], 2 * 5 / 13),
    ("span_f1", ["", "[]"], ["", ""], 1.0),
    ("jaccard", ["A b", "", "c"], ["a c", "", "d"], (1 / 3 + 1 + 0) / 3),
    ("levenshtein", ["kitten", "", "flaw"], ["sitting", "ab", "lawn"], (3 + 2 + 2) / 3),
    # One inversion of three pairs and none of one.
    ("kendall_orders", ["a b c", "x y"], ["a c b", "x y"], 1 - 4 * 1 / (3 * 2 + 2 * 1)),
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


@pytest.mark.parametrize(
    ("name", "truth", "prediction", "extra", "value"),
    [
        ("wmae", [0.0, 0.0], [1.0, 4.0], [5.0, 1.0], 9 / 6),
        ("group_log_mae", [0.0] * 3, [1.0, 3.0, math.e], ["a", "a", "b"], (LOG(2) + 1) / 2),
        # The root's recall is 1/2 and counts twice, that of the vowel 1.
        ("grapheme_recall", [0, 1, 0], [0, 0, 0],
         ["Test_0_grapheme_root", "Test_1_grapheme_root", "Test_0_vowel_diacritic"],
         (2 * 1 / 2 + 1) / 3),
    ],
)  # fmt: skip
def test_weights_groups_and_ids_count(
    name: str, truth: list, prediction: list, extra: list, value: float
) -> None:
    arrays = np.array(truth), np.array(prediction), np.array(extra)
    assert get_metric(name)(*arrays) == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "truth", "prediction", "message"),
    [
        ("log_rmse", [1.0], [0.0], "must be positive"),
        ("span_f1", ["0 5"], ["0-5"], "'0-5' is no span"),
        ("kendall_orders", ["a b"], ["a a"], "exactly the names"),
        ("col_auc", [[1], [1]], [[0.5], [0.5]], "single class"),
    ],
)
def test_predictions_that_break_a_metric_s_form_are_named(
    name: str, truth: list, prediction: list, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        get_metric(name)(np.array(truth), np.array(prediction))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=2, max_size=40))
def test_gini_of_binary_truths_is_twice_the_auc_less_one(rows: list[tuple[int, int]]) -> None:
    truth, values = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    assume(0 < truth.sum() < len(truth))
    auc = get_metric("auc")(truth, values)
    assert get_metric("gini")(truth, values) == pytest.approx(2 * auc - 1)


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_edits_are_counted_as_by_the_textbook(one: str, other: str) -> None:
    table = [[max(i, j) for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i, a in enumerate(one, start=1):
        for j, b in enumerate(other, start=1):
            best = min(table[i - 1][j], table[i][j - 1]) + 1
            table[i][j] = min(best, table[i - 1][j - 1] + (a != b))
    assert get_metric("levenshtein")(np.array([one]), np.array([other])) == table[-1][-1]


def test_benchmarks_that_disagree_have_a_metric_each_and_a_note() -> None:
    for name in ("smape", "smape_fraction", "map_at_3", "mpa3", "mae", "mse"):
        assert "DSBench" in METRICS[name].note


def test_a_function_becomes_a_metric_with_a_direction() -> None:
    metric = user_metric(lambda truth, values: float(np.abs(truth - values).max()), False)
    assert metric(np.zeros(2), np.array([1.0, 3.0])) == 3.0
    with pytest.raises(TypeError, match="needs higher_is_better=True or False, got None"):
        user_metric(max, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"kind must be one of \('label', .*, got 'rank'"):
        user_metric(max, True, "rank")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a name, a Metric or a function, got 7"):
        user_metric(7, True)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_better_prediction_scores_better_in_the_metric_s_direction(name: str) -> None:
    metric = get_metric(name)
    truth, good, bad = _example(metric)
    extra = {
        "none": None,
        "weight": np.ones(4),
        "group": np.array(list("aabb")),
        "id": np.array(["Test_0_grapheme_root"] * 4),
    }[metric.extra]
    better = metric(truth, good, extra) > metric(truth, bad, extra)
    assert better == metric.higher_is_better


def _example(metric: Metric) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A truth, a perfect prediction and a bad one."""
    if metric.kind == "text":
        truth = np.array(["0", "2", "4"] if metric.name in LISTS else ["0 1", "2 3", "4 5"])
        swapped = np.array(["1 0", "2 3", "5 4"])
        return truth, truth, swapped if metric.name in ORDERED else truth[[1, 2, 0]]
    if metric.columns == "class":
        return TRUTH, np.eye(2)[TRUTH], np.eye(2)[[0, 1, 0, 0]]
    if metric.name in ("mcrmse", "mcrmsle", "col_auc", "lwlrap", "kl"):
        truth = np.stack([TRUTH, 1 - TRUTH], axis=1)
        return truth, truth, np.stack([[0.0, 1, 0.2, 0.2], [1.0, 0, 0.2, 0.4]], axis=1)
    if metric.kind == "value":
        return TRUTH + 1.0, TRUTH + 1.0, np.array([2.0, 1.0, 1.0, 1.5])
    return TRUTH, TRUTH, np.array([0, 1, 0, 0])


def test_numbers_too_large_for_the_metric_give_no_finite_score() -> None:
    assert not math.isfinite(get_metric("rmse")(np.zeros(2), np.full(2, 1e300)))


def test_an_unknown_metric_is_named_in_the_error() -> None:
    with pytest.raises(ValueError, match=r"metric must be one of .*, got 'f7'"):
        get_metric("f7")


@given(
    pairs=st.lists(
        st.tuples(*[st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4)] * 2),
        min_size=1,
        max_size=4,
    )
)
def test_spans_count_as_the_characters_that_they_cover(
    pairs: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]],
) -> None:
    sides = [
        [";".join(f"{a} {b}" for a, b in spans) for spans in side]
        for side in zip(*pairs, strict=True)
    ]
    sets = [[{c for a, b in spans for c in range(a, b)} for spans in pair] for pair in pairs]
    common, size = sum(len(a & b) for a, b in sets), sum(len(a) + len(b) for a, b in sets)
    truth, said = (np.array(side, dtype=object) for side in sides)
    expected = 2 * common / size if size else 1.0
    assert get_metric("span_f1")(truth, said) == pytest.approx(expected)


def test_long_spans_take_no_memory() -> None:
    truth = np.array(["0 5"] * 20, dtype=object)
    tracemalloc.start()
    try:
        score = get_metric("span_f1")(truth, np.array(["0 1000000"] * 20, dtype=object))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert score == pytest.approx(2 * 5 / 1_000_005) and peak < 2**20
