"""A run of the main job: what it leaves behind, and that a killed one loses nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from testing_runs import tiny

from wmrl_envs.benchmarks.autoresearch.evaluation import Evaluator
from wmrl_envs.benchmarks.autoresearch.recording import Recorder
from wmrl_envs.benchmarks.autoresearch.records import SettingsError, read_costs, read_lines
from wmrl_envs.benchmarks.autoresearch.setup import collect_log
from wmrl_envs.benchmarks.autoresearch.train import train
from wmrl_envs.wrappers.world_models import read_log

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("instant")]

CONFIG = tiny(refit_every=2)
DIES = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from testing_runs import InstantSandbox, tiny
from wmrl_envs.benchmarks.autoresearch import recording, setup, train

setup.Sandbox = InstantSandbox

def append_line_and_die(path, record):
    append_line(path, record)
    if (path.name, record["step"]) == {moment!r}:
        if {cut!r}:
            path.write_bytes(path.read_bytes()[:-9])
        os.kill(os.getpid(), signal.SIGKILL)

append_line, recording.append_line = recording.append_line, append_line_and_die
train.train(tiny(refit_every=2), Path({folder!r}))
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing interrupted."""
    with pytest.MonkeyPatch.context() as patch:
        from testing_runs import InstantSandbox

        from wmrl_envs.benchmarks.autoresearch import setup

        patch.setattr(setup, "Sandbox", InstantSandbox)
        torch.set_num_threads(1)
        folder = tmp_path_factory.mktemp("whole")
        train(CONFIG, folder)
    return folder


def untimed(folder: Path, name: str) -> list[dict[str, Any]]:
    """The lines of a file without what depends on a clock."""
    records = read_lines(folder / name)
    for record in records:
        if "costs" in record:
            record["costs"] = record["costs"]["executions"], record["costs"]["execution"]
    return records


def assert_equal_runs(first: Path, second: Path) -> None:
    """Rewards bit for bit, executions, programs, the correction, and the weights."""
    for name in ("steps.jsonl", "evaluations.jsonl", "anchors.jsonl"):
        assert untimed(first, name) == untimed(second, name)
    one, two = (load_file(folder / "policy" / "model.safetensors") for folder in (first, second))
    assert all(torch.equal(one[key], two[key]) for key in one | two)


def test_a_run_leaves_a_line_a_step_and_an_evaluation_at_its_times(whole: Path) -> None:
    assert [line["step"] for line in read_lines(whole / "steps.jsonl")] == [1, 2, 3]
    evaluations = read_lines(whole / "evaluations.jsonl")
    assert [(e["step"], len(e["train"]), len(e["test"])) for e in evaluations] == [
        (0, 2, 2),
        (2, 2, 2),
        (3, 2, 2),
    ]
    assert all("predicted" in e and "corrected" in e for e in evaluations[-1]["train"])


def test_a_run_counts_what_its_anchors_executed(whole: Path) -> None:
    """Half of the groups, three episodes each; evaluations are not counted."""
    executed = [
        sum(a["step"] <= step and a["status"] not in ("malformed", "syntax_error") for a in anchors)
        for anchors in [read_lines(whole / "anchors.jsonl")]
        for step in (1, 2, 3)
    ]
    costs = [line["costs"] for line in read_lines(whole / "steps.jsonl")]
    assert [c["executions"] for c in costs] == executed
    assert [c["execution"] for c in costs] == [0.25 * count for count in executed]
    for name in ("world_model", "generation", "update"):
        assert sorted(c[name] for c in costs) == [c[name] for c in costs] and costs[0][name] > 0


def test_a_run_leaves_its_settings_log_checkpoint_and_policy(whole: Path) -> None:
    assert json.loads((whole / "config.json").read_text())["refit_every"] == 2
    assert len(read_log(whole / "log.jsonl")) == read_costs(whole / "log_costs.json")[1] == 6
    assert (whole / "checkpoint.pt").is_file() and (whole / "policy" / "policy.json").is_file()
    assert list(whole.glob("events.out.tfevents.*")) and not list(whole.glob("*partial*"))


def test_no_file_holds_what_json_does_not_know(whole: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for path in [*whole.glob("*.jsonl"), *whole.glob("*.json")]:
        for line in path.read_text().split("\n") if path.suffix == ".jsonl" else [path.read_text()]:
            if line:
                json.loads(line, parse_constant=refuse)


def test_a_finished_run_is_left_as_it_is(whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    train(CONFIG, whole)
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*")} == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "cut"),
    [
        (("steps.jsonl", 1), True),
        (("evaluations.jsonl", 3), False),
    ],
    ids=["in a line before any checkpoint", "at the end"],
)
def test_a_killed_run_ends_like_one_that_was_not(
    whole: Path, tmp_path: Path, moment: tuple[str, int], cut: bool
) -> None:
    program = DIES.format(
        tests=str(Path(__file__).parent.parent), moment=moment, cut=cut, folder=str(tmp_path)
    )
    environment = {**os.environ, "PYTHONHASHSEED": "random"}
    died = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    train(CONFIG, tmp_path)
    assert_equal_runs(whole, tmp_path)


@pytest.mark.parametrize("moment", [1, 3])
def test_an_interrupted_evaluation_is_made_up_for(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """The one of the start, and the last."""
    calls = []

    def interrupted(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == moment:
            raise KeyboardInterrupt
        return evaluate(*args)

    evaluate = Evaluator.__call__
    monkeypatch.setattr(Evaluator, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(CONFIG, tmp_path)
    assert not (tmp_path / "policy").exists()
    train(CONFIG, tmp_path)
    assert_equal_runs(whole, tmp_path)


def test_an_interrupt_between_checkpoints_keeps_the_step_and_charges_it_once(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Recorder, rollout: Any) -> None:
        if self.model.step == 1:
            raise KeyboardInterrupt
        note(self, rollout)

    note = Recorder.on_rollout_end
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "on_rollout_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(CONFIG, tmp_path)
    resumed_at = []
    begin = Recorder.on_training_start
    monkeypatch.setattr(
        Recorder,
        "on_training_start",
        lambda self: (resumed_at.append(self.model.step), begin(self)),
    )
    train(CONFIG, tmp_path)
    assert resumed_at == [1]
    assert_equal_runs(whole, tmp_path)
    start = read_lines(tmp_path / "evaluations.jsonl")[0]["costs"]["world_model"]
    first, second, _ = (
        line["costs"]["world_model"] for line in read_lines(tmp_path / "steps.jsonl")
    )
    assert first < second < first + start, "the first fit was charged again"


def test_a_log_can_be_shared(tmp_path: Path) -> None:
    config = tiny(arm="mixture", steps=1)
    collect_log(config, tmp_path / "log", 8)
    train(config, tmp_path / "run", tmp_path / "log")
    assert not (tmp_path / "run" / "log.jsonl").exists()
    assert (tmp_path / "run" / "policy").is_dir()


@pytest.mark.parametrize("arm", ["real", "anchors", "world-model", "mixture"])
def test_every_kind_of_arm_runs(tmp_path: Path, arm: str) -> None:
    train(tiny(arm=arm, steps=1), tmp_path)
    (line,) = read_lines(tmp_path / "steps.jsonl")
    measured = {"real": 1.0, "anchors": 0.5, "mixture": 0.5}.get(arm)
    assert line.get("rollout/measured_share", 0.0) == (measured or 0.0)
    assert (tmp_path / "log.jsonl").exists() == (arm in ("world-model", "mixture"))
    assert "correction" not in line


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "was made with seed=0, not 1"),
        ({"train_tasks": ("digts",)}, "made with train_tasks"),
    ],
)
def test_other_settings_do_not_touch_a_folder(
    whole: Path, changes: dict[str, Any], message: str
) -> None:
    before = (whole / "config.json").read_bytes()
    with pytest.raises(SettingsError, match=message):
        train(CONFIG.with_(**changes), whole)
    assert (whole / "config.json").read_bytes() == before


def test_two_runs_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def train_there_too(*_: Any) -> None:
        with pytest.raises(SettingsError, match="another process is training in"):
            train(CONFIG, tmp_path)
        raise KeyboardInterrupt

    monkeypatch.setattr(Recorder, "on_training_start", train_there_too)
    with pytest.raises(KeyboardInterrupt):
        train(CONFIG, tmp_path)


def test_settings_that_cannot_be_had_leave_no_folder(tmp_path: Path) -> None:
    for config, log in (
        (tiny(train_tasks=("digts",)), None),
        (tiny(policy=str(tmp_path / "nothing")), None),
        (tiny(), tmp_path / "no-log"),
    ):
        with pytest.raises(SettingsError):
            train(config, tmp_path / "run", log)
        assert not (tmp_path / "run").exists()


def test_a_damaged_checkpoint_is_named(whole: Path, tmp_path: Path) -> None:
    CONFIG.write(tmp_path / "config.json")
    for name in ("log.jsonl", "log_costs.json"):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    (tmp_path / "checkpoint.pt").write_bytes(b"half of it")
    with pytest.raises(SettingsError, match=r"checkpoint\.pt cannot be resumed"):
        train(CONFIG, tmp_path)
