"""Figures by arm."""

import math
from pathlib import Path

import pytest
from testing_reports import write_arm

from wmrl_envs.benchmarks.report.episodes import Episode
from wmrl_envs.benchmarks.report.runs import find_runs
from wmrl_envs.benchmarks.report.summaries import Fidelity, arms, scores, series, splits


def test_scores_pool_the_seeds_and_carry_an_interval(comparison: Path) -> None:
    real = arms(find_runs([comparison]))[0]
    points = scores(real, "test")
    assert [(p.step, p.runs, p.episodes) for p in points] == [(s, 2, 24) for s in (0, 2, 4)]
    assert all(p.low < p.mean < p.high for p in points)
    assert points[-1].executions == 40


def test_held_out_tasks_come_first(comparison: Path) -> None:
    assert splits(find_runs([comparison])) == ["test", "train"]


def test_an_arm_keeps_its_colour_whatever_else_is_shown(tmp_path: Path, comparison: Path) -> None:
    alone = arms(find_runs([write_arm(tmp_path / "run", "wmrl", 0)]))
    beside = {arm.name: arm for arm in arms(find_runs([comparison]))}
    assert alone[0].css == beside["wmrl"].css
    assert len({arm.css for arm in beside.values()}) == 3


def test_a_series_is_the_mean_over_seeds(comparison: Path) -> None:
    wmrl = arms(find_runs([comparison]))[2]
    found = series(wmrl, "missing", "correction/mean_residual")
    assert found == [(step, pytest.approx(0.1 / step)) for step in (1.0, 2.0, 3.0, 4.0)]


def test_fidelity_counts_order_within_a_task_only() -> None:
    episodes = [
        Episode("s", 0, "a", measured=0.2, predicted=0.3),
        Episode("s", 0, "a", measured=0.4, predicted=0.1),
        Episode("s", 0, "a", measured=0.6, predicted=0.3),
        Episode("s", 0, "b", measured=0.9, predicted=None),
        Episode("s", 0, "b", measured=0.0, predicted=0.9),
    ]
    found = Fidelity.of([episodes], lambda e: e.predicted)
    assert found is not None and found.pairs == 4
    assert found.ordered == pytest.approx((0 + 0.5 + 1) / 3)
    assert found.bias == pytest.approx((0.1 - 0.3 - 0.3 + 0.9) / 4)


def test_fidelity_of_nothing_is_none_and_of_ties_has_no_order() -> None:
    assert Fidelity.of([[Episode("s", 0, measured=0.5)]], lambda e: e.predicted) is None
    tied = [Episode("s", 0, "a", measured=0.5, predicted=p) for p in (0.1, 0.2)]
    found = Fidelity.of([tied], lambda e: e.predicted)
    assert found is not None and math.isnan(found.ordered)
