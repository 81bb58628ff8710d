"""The registry of tasks: what our metrics cover of the benchmarks."""

import json
from pathlib import Path

import pytest

from wmrl_envs.autoresearch.formats import facts, known_tasks
from wmrl_envs.autoresearch.formats import registry as module
from wmrl_envs.autoresearch.metrics import METRICS, get_metric

FAMILIES = {
    "AUC": {"auc"},
    "columnwise AUC": {"col_auc"},
    "accuracy": {"accuracy", "error_rate"},
    "RMSE": {"rmse"},
    "MCRMSE": {"mcrmse"},
    "RMSLE": {"rmsle", "log_rmse"},
    "columnwise RMSLE": {"mcrmsle"},
    "absolute errors": {"mae", "medae", "wmae", "group_log_mae", "rmspe"},
    "log loss": {"logloss", "mlogloss", "balanced_logloss"},
    "F1": {"macro_f1", "micro_f1", "row_f1", "f1"},
    "QWK": {"qwk"},
    "MAP@k": {"map_at_3", "map_at_5", "map_at_12", "mpa3"},
    "NDCG@5": {"ndcg5"},
    "SMAPE": {"smape", "smape_fraction"},
    "R2": {"r2"},
    "Gini": {"gini"},
    "correlations": {"spearman", "pearson", "kendall"},
    "Jaccard": {"jaccard"},
    "MCC": {"mcc"},
    "LRAP": {"lwlrap"},
    "Levenshtein": {"levenshtein"},
}


def covered(split: str) -> tuple[int, int]:
    found = [facts(name) for name in known_tasks(split)]
    return sum(task.metric in METRICS for task in found), len(found)


def test_the_metrics_cover_the_twenty_one_families() -> None:
    assert len(FAMILIES) == 21
    assert set().union(*FAMILIES.values()) <= set(METRICS)


@pytest.mark.parametrize(
    ("split", "coverage"), [("dsbench", (75, 75)), ("train", (43, 45)), ("test", (11, 14))]
)
def test_the_metrics_cover_the_splits(split: str, coverage: tuple[int, int]) -> None:
    assert covered(split) == coverage


def test_every_metric_that_the_registry_names_exists() -> None:
    tasks = [facts(name) for name in known_tasks()]
    assert len(tasks) == 202
    named = {t.metric for t in tasks} | {t.dsbench_metric for t in tasks}
    assert named - {None} <= set(METRICS)


def test_reference_scores_are_better_than_baselines_in_the_metric_s_direction() -> None:
    gaps = [(facts(name), facts(name).gap) for name in known_tasks("dsbench")]
    known = [(task, gap) for task, gap in gaps if gap is not None]
    assert len(known) == 74
    for task, (reference, baseline) in known:
        metric = get_metric(task.metric_for("dsbench") or "")
        assert (reference > baseline) == metric.higher_is_better, task.name


@pytest.mark.parametrize(
    ("name", "dojo", "dsbench"),
    [
        ("playground-series-s3e13", "map_at_3", "mpa3"),
        ("playground-series-s3e19", "smape", "smape_fraction"),
        ("tabular-playground-series-mar-2022", "mae", "mse"),
        ("titanic", "accuracy", "accuracy"),
    ],
)
def test_benchmarks_may_score_a_task_differently(name: str, dojo: str, dsbench: str) -> None:
    task = facts(name)
    assert (task.metric_for("mle_dojo"), task.metric_for("dsbench")) == (dojo, dsbench)


def test_four_boards_are_known_to_be_constant() -> None:
    assert {name for name in known_tasks() if facts(name).constant} == {
        "detecting-insults-in-social-commentary",
        "freesound-audio-tagging-2019",
        "jigsaw-unintended-bias-in-toxicity-classification",
        "wsdm-cup-multilingual-chatbot-arena",
    }


def test_the_file_is_small_and_says_where_it_comes_from() -> None:
    path = Path(module.__file__).with_name("registry.json")
    assert path.stat().st_size < 60_000
    assert "MLE-Dojo" in json.loads(path.read_text())["origin"]


def test_an_unknown_task_has_facts_without_content() -> None:
    assert facts("no-such-task").metric is None
