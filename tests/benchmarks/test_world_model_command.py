"""``wmrl world-model``: fit, evaluate against a log, against live execution, along a run."""

import json
from pathlib import Path
from typing import Any

import pytest
from testing_runs import evaluation, tiny, write_run

from wmrl_envs.benchmarks import cli
from wmrl_envs.benchmarks.autoresearch.records import Costs, write_costs
from wmrl_envs.wrappers.world_models import LoggedEpisode, write_log


@pytest.fixture
def wmrl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: Any, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            cli.main(["world-model", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert ended.value.code == code, out + err
        return out + err

    return run


@pytest.fixture
def log_folder(tmp_path: Path) -> Path:
    words = ("good", "bad")
    log = [
        LoggedEpisode(f"rows {i % 4}", (f"{words[i % 2]}({i})",), 0.9 - 0.8 * (i % 2))
        for i in range(60)
    ]
    write_log(tmp_path / "log" / "log.jsonl", log)
    write_costs(tmp_path / "log" / "log_costs.json", Costs(executions=60, execution=6.0), 60)
    return tmp_path / "log"


def test_the_regression_is_measured_on_what_it_has_not_seen(
    wmrl: Any, log_folder: Path, tmp_path: Path
) -> None:
    out = wmrl("evaluate", log_folder, "--out", tmp_path / "report")
    for words in ("Spearman, mean within a task", "15 (0 without", "CPU ms an execution", "100"):
        assert words in out
    record = json.loads((tmp_path / "report" / "fidelity.json").read_text())
    assert record["fidelity"]["spearman"] > 0.8 and record["fidelity"]["count"] == 15
    assert record["cpu_s_per_execution"] == 0.1
    assert (tmp_path / "report" / "calibration.png").read_bytes().startswith(b"\x89PNG")


def test_a_saved_model_is_asked_about_all_of_a_log(
    wmrl: Any, log_folder: Path, tmp_path: Path
) -> None:
    wmrl("fit", log_folder, tmp_path / "model")
    out = wmrl("evaluate", log_folder / "log.jsonl", "--world-model", tmp_path / "model")
    assert "60 (0 without an opinion)" in out


def test_any_world_model_of_a_module_can_be_measured(
    wmrl: Any, log_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_models.py").write_text(
        "class Constant:\n"
        "    def __init__(self, reward):\n"
        "        self.reward = reward\n"
        "    def predict(self, episodes):\n"
        "        return [self.reward for _ in episodes]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ("--world-model", "my_models:Constant", "--kwargs", '{"reward": 0.6}')
    out = wmrl("evaluate", log_folder, *arguments)
    assert "+0.100" in out and "60 (0 without an opinion)" in out


@pytest.mark.slow
@pytest.mark.model
def test_live_episodes_are_executed_and_asked_about(
    wmrl: Any, log_folder: Path, instant: None
) -> None:
    tasks = ("--train-tasks", "digits", "diabetes")
    out = wmrl("evaluate", log_folder, "--live", 12, *tasks)
    assert "live execution" in out and "12 (0 without an opinion)" in out


def test_a_run_folder_shows_its_drift_with_or_without_a_log(
    wmrl: Any, log_folder: Path, tmp_path: Path
) -> None:
    records = [evaluation(0, [0.1, 0.5], [0.2], predicted=0.5)]
    run = write_run(tmp_path / "run", tiny(), *records)
    out = wmrl("evaluate", run, "--out", tmp_path / "report")
    assert "fidelity along" in out and "Pearson" not in out
    assert {"drift.png", "fidelity.json"} == {p.name for p in (tmp_path / "report").iterdir()}
    out = wmrl("evaluate", write_run(log_folder, tiny(), *records))
    assert "fidelity along" in out and "Pearson" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent.jsonl",), "absent.jsonl"),
        (("LOG", "--held-out", "2"), "held_out must lie in (0, 1), got 2.0"),
        (("LOG", "--world-model", "absent"), "regression.json"),
        (("LOG", "--world-model", "no_such:Model"), "cannot be imported"),
        (("LOG", "--world-model", "json:JSONDecoder", "--kwargs", "{"), "Expecting"),
        (("LOG", "--batch", "0"), "batch at least 1"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(
    wmrl: Any, log_folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    given = [str(log_folder) if word == "LOG" else word for word in arguments]
    out = wmrl("evaluate", *given, code=2)
    assert out.count("\n") == 1 and message in out


def test_a_log_that_teaches_nothing_is_one_line(wmrl: Any, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", [LoggedEpisode("t", ("x = = 1",), 0.0)] * 3)
    assert "whose code compiles" in wmrl("fit", tmp_path, tmp_path / "model", code=2)
