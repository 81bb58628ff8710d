"""Run folders of any age and track are read without a fault."""

from pathlib import Path

import pytest
from testing_reports import write_arm

from wmrl_envs.benchmarks.report.episodes import Episode
from wmrl_envs.benchmarks.report.runs import find_runs, read_run


def test_a_comparison_is_found_by_arm_and_seed(comparison: Path) -> None:
    runs = find_runs([comparison, comparison / "seed-0"])
    assert [(run.arm, run.seed) for run in runs] == [
        (arm, seed) for arm in ("real", "world-model", "wmrl") for seed in (0, 1)
    ]


def test_costs_include_the_log_of_arms_with_a_world_model(tmp_path: Path) -> None:
    with_log = read_run(write_arm(tmp_path / "a", "wmrl", 0)).evaluations[-1]
    without = read_run(write_arm(tmp_path / "b", "real", 0)).evaluations[-1]
    assert with_log.costs["executions"] == 46 and without.costs["executions"] == 40


def test_a_command_that_was_not_kept_is_rebuilt_from_the_settings(tmp_path: Path) -> None:
    run = read_run(write_arm(tmp_path / "run", "real", 7))
    assert run.command.startswith("wmrl train autoresearch run --arm real --seed 7")


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no run"):
        find_runs([tmp_path])
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        find_runs([tmp_path / "missing"])


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"measured_reward": 0.5, "action": "x"}, Episode("s", 1, solution="x", measured=0.5)),
        ({"success": False}, Episode("s", 1, status="failure", measured=0.0)),
        ({"reward": float("nan"), "task": None}, Episode("s", 1)),
        ({"actions": ["a", "b"]}, Episode("s", 1, solution="a\n\nb")),
        ({"actions": [[0.1, 0.2]], "reward": "high"}, Episode("s", 1)),
    ],
)
def test_an_episode_is_read_by_any_of_its_names(record: dict, expected: Episode) -> None:
    assert Episode.read(record, "s", 1) == expected


def test_broken_files_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "evaluations.jsonl").write_bytes(b"\xff\xfe not text")
    (tmp_path / "steps.jsonl").write_text('[1]\n{"step": null}\n{"step": 1}\n{"st')
    (tmp_path / "config.json").write_text("[]")
    run = read_run(tmp_path)
    assert [s["step"] for s in run.steps] == [1] and not run.evaluations
    assert "no config.json, so its settings are unknown" in run.notes


def test_very_long_solutions_are_cut() -> None:
    episode = Episode.read({"code": "x" * 30_000}, "s", 0)
    assert len(episode.solution) < 21_000 and "10000 characters left out" in episode.solution
