"""The record of a comparison: enough to quote it and to make it again."""

from pathlib import Path

import pytest
from testing_runs import evaluation, write_run

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.results import results_record
from wmrl_envs.benchmarks.autoresearch.summary import Run


def runs(folder: Path, *rewards: list[float]) -> list[Run]:
    """One run a seed of the arm that executes everything."""
    return [
        Run.read(
            write_run(
                folder / str(seed),
                RunConfig(arm="real", seed=seed),
                evaluation(0, [0.3], [0.3]),
                evaluation(9, found, [0.25, 1.0], executions=10 * (seed + 1)),
            )
        )
        for seed, found in enumerate(rewards)
    ]


def test_each_seed_has_its_final_scores(tmp_path: Path) -> None:
    arm = results_record({"real": runs(tmp_path, [0.5, 0.7], [0.9])}, [])["arms"]["real"]
    assert {seed: found["train_reward"] for seed, found in arm["seeds"].items()} == {
        "0": 0.6,
        "1": 0.9,
    }
    first = arm["seeds"]["0"]
    assert (first["executions"], first["test_reward"], first["test_position"]) == (10, 0.625, 0.5)
    assert arm["result"]["seeds"] == 2 and arm["settings"]["arm"] == "real"
    assert "seed" not in arm["settings"]


@pytest.mark.parametrize("out", [("--out", "/a/b"), ("--out=/a/b",), ()])
def test_the_command_leaves_out_where_the_folder_was(tmp_path: Path, out: tuple[str, ...]) -> None:
    record = results_record({}, ["demo", *out, "--seeds", "2"])
    assert record["command"] == "wmrl demo --seeds 2"


def test_versions_and_machine_are_there(tmp_path: Path) -> None:
    record = results_record({}, [])
    assert {"python", "torch", "wmrl-envs"} <= set(record["versions"])
    assert "cores" in record["machine"]


def test_what_was_not_graded_has_no_score(tmp_path: Path) -> None:
    arm = results_record({"real": runs(tmp_path, [])}, [])["arms"]["real"]
    assert arm["seeds"]["0"]["train_reward"] is None
