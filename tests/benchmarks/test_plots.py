"""The plots are PNGs, whatever the runs are like."""

import warnings
from pathlib import Path

import pytest
from testing_runs import evaluation, write_run

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.plots import draw_all
from wmrl_envs.benchmarks.autoresearch.records import Costs, write_costs
from wmrl_envs.benchmarks.autoresearch.summary import Run

REWARDS = [0.1, 0.5, 0.5, 0.9]


@pytest.fixture(autouse=True)
def no_warning() -> None:
    warnings.simplefilter("error")


def run(folder: Path, arm: str, seed: int, *evaluations: dict) -> Run:
    write_costs(folder / "log_costs.json", Costs(10), 200)
    config = RunConfig(arm=arm, seed=seed)
    return Run.read(write_run(folder / f"{arm}-{seed}", config, *evaluations), folder)


def width(png: Path) -> int:
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(data[16:20], "big")


def test_a_plot_for_each_cost_and_a_calibration_for_each_world_model(tmp_path: Path) -> None:
    known = {"predicted": 0.4, "corrected": 0.5}
    runs = {
        arm: [
            run(tmp_path, arm, seed, *(evaluation(s, REWARDS, REWARDS, s, **known) for s in (0, 4)))
            for seed in (0, 1)
        ]
        for arm in ("anchors", "world-model", "wmrl")
    }
    paths = draw_all(runs, tmp_path)
    assert [path.name for path in paths] == [
        "score_by_executions.png",
        "score_by_cpu_seconds.png",
        "calibration_world-model.png",
        "calibration_wmrl.png",
    ]
    assert all(width(path) > 300 for path in paths)


def test_evaluations_without_predictions_or_graded_episodes_are_drawn(tmp_path: Path) -> None:
    runs = {
        "wmrl": [run(tmp_path, "wmrl", 0, evaluation(0, REWARDS, []), evaluation(4, [], []))],
        "anchors": [run(tmp_path, "anchors", 0, evaluation(0, [], []))],
    }
    assert all(width(path) > 300 for path in draw_all(runs, tmp_path))


def test_many_evaluations_still_fit_on_a_page(tmp_path: Path) -> None:
    many = [evaluation(step, REWARDS, REWARDS, predicted=0.4) for step in range(100)]
    few = [evaluation(step, REWARDS, REWARDS, predicted=0.4) for step in range(6)]
    (tmp_path / "many").mkdir()
    (tmp_path / "few").mkdir()
    long = draw_all({"wmrl": [run(tmp_path, "wmrl", 0, *many)]}, tmp_path / "many")[-1]
    short = draw_all({"wmrl": [run(tmp_path, "wmrl", 1, *few)]}, tmp_path / "few")[-1]
    assert width(long) == width(short)
