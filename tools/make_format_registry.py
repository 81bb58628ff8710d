"""Writes the registry of other benchmarks' tasks from a table of facts about them.

Usage: python tools/make_format_registry.py FACTS.json > registry.json
(the registry is wmrl_envs/autoresearch/formats/registry.json)

FACTS.json maps a task's name to ``metric_family``, ``higher_is_better``, ``leaderboard`` (which
boards are constant) and, where they apply, ``wmrl_split``, ``wmrl_block``, ``dsbench_gt`` and
``dsbench_baseline``, as they were read from MLE-Dojo (MIT), DSBench (MIT) and the released code of
arXiv 2608.12564.
"""

import json
import sys
from pathlib import Path
from typing import Any

from wmrl_envs.autoresearch.metrics import get_metric

ORIGIN = (
    "Facts about 202 MLE-Dojo competitions (MLE-Dojo, MIT), read from its metric and leaderboard "
    "files; reference and baseline scores of DSBench (MIT); splits and categories of WMRL (arXiv "
    "2608.12564). Made by tools/make_format_registry.py."
)
FAMILIES = {
    "AUC": "auc",
    "F1 macro": "macro_f1",
    "F1 micro": "micro_f1",
    "F1 binary/custom": "f1",
    "F1 samples/mean row-wise": "row_f1",
    "KL divergence": "kl",
    "Kendall tau": "kendall_orders",
    "LRAP (lwlrap)": "lwlrap",
    "Levenshtein": "levenshtein",
    "MAE": "mae",
    "MAP@3 / MPA@3": "map_at_3",
    "MAP@k": "map_at_5",
    "MCC": "mcc",
    "MCRMSE": "mcrmse",
    "MedAE": "medae",
    "Pearson": "pearson",
    "QWK": "qwk",
    "R2": "r2",
    "RMSE": "rmse",
    "RMSLE": "rmsle",
    "RMSLE (log RMSE)": "log_rmse",
    "RMSPE": "rmspe",
    "SMAPE": "smape",
    "Spearman": "spearman",
    "accuracy / exact match": "accuracy",
    "balanced log loss": "balanced_logloss",
    "error rate (1-acc)": "error_rate",
    "log group MAE": "group_log_mae",
    "log loss binary": "logloss",
    "log loss multiclass": "mlogloss",
    "mean columnwise AUC": "col_auc",
    "mean columnwise RMSLE": "mcrmsle",
    "normalized Gini (=2AUC-1)": "gini",
    "weighted MAE": "wmae",
    "weighted macro recall": "grapheme_recall",
    "word Jaccard": "jaccard",
}
OVERRIDES: dict[str, dict[str, Any]] = {
    "h-and-m-personalized-fashion-recommendations": {"metric": "map_at_12"},
    "kaggle-llm-science-exam": {"metric": "map_at_3"},
    "imet-2020-fgvc7": {"metric": "tag_f1"},
    "nbme-score-clinical-patient-notes": {"metric": "span_f1"},
    "kuzushiji-recognition": {"metric": None},
    "draper-satellite-image-chronology": {"metric": None},
    "the-winton-stock-market-challenge": {"metric": None},
    "airbnb-recruiting-new-user-bookings": {"metric": None},
    "walmart-recruiting-store-sales-forecasting": {
        "extra": "IsHoliday",
        "weights": {"True": 5.0, "False": 1.0},
    },
    "benchmark-bond-trade-price-challenge": {"extra": "weight"},
    "champs-scalar-coupling": {"extra": "type"},
    "playground-series-s3e13": {"dsbench_metric": "mpa3"},
    "playground-series-s3e19": {"dsbench_metric": "smape_fraction"},
    "tabular-playground-series-mar-2022": {"dsbench_metric": "mse"},
    "home-data-for-ml-course": {
        "metric": "rmse",
        "issue": "the description asks for the RMSE of logarithms; MLE-Dojo scores plain RMSE",
    },
    "allstate-purchase-prediction-challenge": {
        "issue": "MLE-Dojo multiplies the accuracy by 100, its boards do not; here it is a share"
    },
    "ventilator-pressure-prediction": {"keep": ["u_out", "0"]},
    "stanford-covid-vaccine": {"keep": ["keep", "True"]},
    "random-acts-of-pizza": {
        "issue": "the public column giver_username_if_known tells the answers (mle-bench #108)"
    },
    "smartphone-decimeter-2022": {"issue": "span_log.nmea tells the answers"},
    "hubmap-kidney-segmentation": {"issue": "public JSON files tell the answers"},
}


def entry(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """One task's entry; what does not apply is left out."""
    family = facts["metric_family"]
    found = {"family": family, "metric": FAMILIES.get(family), **OVERRIDES.get(name, {})}
    metric = found["metric"]
    if metric and get_metric(metric).higher_is_better != facts["higher_is_better"]:
        raise ValueError(f"{name}: {metric} has the other direction in the facts")
    if not metric:
        found["higher"] = facts["higher_is_better"]
    if "wmrl_split" in facts:
        found |= {"split": facts["wmrl_split"], "block": facts["wmrl_block"]}
    if "dsbench_gt" in facts:
        found["gap"] = [float(facts["dsbench_gt"]), float(facts["dsbench_baseline"])]
    constant = [which for which, board in facts["leaderboard"].items() if board["constant"]]
    return found | ({"constant": constant} if constant else {})


def main() -> None:
    """Reads the facts, writes the registry."""
    facts = json.loads(Path(sys.argv[1]).read_text())
    lines = [f" {json.dumps(n)}: {json.dumps(entry(n, facts[n]))}" for n in sorted(facts)]
    sys.stdout.write(
        f'{{"origin": {json.dumps(ORIGIN)},\n"tasks": {{\n' + ",\n".join(lines) + "\n}}\n"
    )


if __name__ == "__main__":
    main()
