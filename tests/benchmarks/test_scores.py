"""Scores of samples: by hand-computed numbers."""

import json
import math

import numpy as np
import pytest

from wmrl_envs.benchmarks.autoresearch.paper import ROWS
from wmrl_envs.benchmarks.autoresearch.score_report import ScoreReport
from wmrl_envs.benchmarks.autoresearch.scores import (
    MEASURES,
    Sample,
    TaskScores,
    estimate,
    macro_estimate,
)


def sample(
    task: str, kind: str, position: float | None, medal: str = "", gap: float | None = None
) -> Sample:
    modality, category = kind.split()
    if position is None:
        return Sample(task, modality, category, "runtime_error", 0.1, 0.0, gap=gap)
    return Sample(
        task, modality, category, "valid", 0.5 + position / 2, position, position, medal, gap
    )


SAMPLES = (
    sample("a", "tabular binary", 0.8, "gold"),
    sample("a", "tabular binary", None),
    sample("b", "tabular regression", 0.2),
    sample("b", "tabular regression", 0.4, "bronze"),
    sample("c", "image binary", 0.6, "silver"),
    sample("c", "image binary", 1.0, "gold"),
)
REPORT = ScoreReport("policy", SAMPLES, ungraded=1)
PERCENTILE = MEASURES[0]


def test_the_average_counts_a_failure_as_zero() -> None:
    a, b, c = TaskScores.by_task(SAMPLES)
    assert [t.average for t in (a, b, c)] == pytest.approx([0.4, 0.3, 0.8])
    assert [t.best for t in (a, b, c)] == [0.8, 0.4, 1.0]
    assert [t.valid_rate for t in (a, b, c)] == [0.5, 1.0, 1.0]
    assert a.medal_rate("gold") == 0.5 and c.medal_rate("gold", "silver") == 1.0


def test_the_papers_average_is_the_mean_over_categories() -> None:
    found = {name: e.value for name, e in REPORT.estimates(PERCENTILE).items()}
    assert found["Tab"] == pytest.approx(0.35) and found["Img"] == pytest.approx(0.8)
    assert math.isnan(found["Text"])
    assert found["Avg (modalities)"] == pytest.approx((0.35 + 0.8) / 2)
    assert found["Bin-Cls"] == pytest.approx(0.6) and found["Regress"] == pytest.approx(0.3)
    assert found["Avg (categories)"] == pytest.approx(0.45)
    assert found["Avg (tasks)"] == pytest.approx(0.5)


def test_the_papers_own_averages_are_means_over_categories() -> None:
    for row in ROWS:
        assert np.mean(row.modalities[:3]) == pytest.approx(row.modalities[3], abs=0.06)
        assert np.mean(row.categories[:4]) == pytest.approx(row.categories[4], abs=0.06)


def test_an_interval_holds_the_mean_and_needs_two_tasks() -> None:
    found = estimate([0.1, 0.4, 0.7])
    assert 0.1 <= found.low < found.value < found.high <= 0.7
    assert math.isnan(estimate([0.5]).low)
    macro = macro_estimate([[0.1, 0.3], [0.9], []])
    assert macro.value == pytest.approx(0.55) and macro.low < 0.55 < macro.high
    assert math.isnan(macro_estimate([[0.1], [0.9]]).low)


def test_an_interval_resamples_tasks_within_their_category() -> None:
    found = macro_estimate([[0.0, 1.0] * 50, [0.5] * 100])
    half = (found.high - found.low) / 2
    assert half == pytest.approx(1.96 * 0.5 / math.sqrt(100) / 2, rel=0.15)


def test_the_gap_is_reported_where_tasks_have_one() -> None:
    assert "DSBench gap" not in REPORT.markdown()
    samples = (
        sample("d", "tabular other", 0.5, gap=0.5), sample("d", "tabular other", None, gap=0.0),
        *SAMPLES,
    )  # fmt: skip
    report = ScoreReport("policy", samples)
    gap = next(measure for measure in MEASURES if measure.key == "gap")
    assert report.estimates(gap)["Avg (tasks)"].value == 0.25
    assert "DSBench gap" in report.markdown()


def test_markdown_and_latex_hold_the_numbers_and_the_papers_rows_on_demand() -> None:
    text = REPORT.markdown()
    assert "percentile avg@2" in text and "1 episodes were not graded" in text
    assert "| a | tabular binary | 2 | 40.0 | 80.0 | 50 | 1/0/0 | 0.8 |" in text
    assert "Qwen3.5-9B-WMRL" not in text
    assert "| paper: Qwen3.5-9B-WMRL | 38.0 | 19.4 | 7.4 | 21.6 |" in REPORT.markdown(paper=True)
    assert r"percentile avg@2 & 35.0 [30.0, 40.0]" in REPORT.latex()
    assert "paper: Qwen3.5-4B" in REPORT.latex(paper=True)


def test_the_record_is_json_without_nan() -> None:
    record = json.loads(json.dumps(REPORT.record(), allow_nan=False))
    assert record["estimates"]["percentile"]["Avg (tasks)"]["value"] == 0.5
    assert record["estimates"]["percentile"]["Text"] == {"value": None, "low": None, "high": None}
    assert record["tasks"]["b"]["best"] == 0.4
    assert len(record["samples"]) == 6


def test_uneven_numbers_of_samples_are_said() -> None:
    assert ScoreReport("policy", SAMPLES[1:]).k == "1–2"
