"""``wmrl train``, ``collect``, ``eval`` and ``demo``: exit codes, errors, what they print."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import testing_tasks
from testing_runs import TINY, processes_about, tiny, write_run

from wmrl_envs.benchmarks import cli
from wmrl_envs.benchmarks.autoresearch.compare import arm_config, arm_folder, options
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.records import Costs, read_lines, write_costs
from wmrl_envs.benchmarks.commands import demo
from wmrl_envs.benchmarks.commands.base import stopped_by_signals

ARMS = ("anchors", "world-model", "wmrl")


class Wmrl:
    """Runs the command line in this process; an exit code other than the expected fails."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        assert ended.value.code == code, out + err
        return out, err


@pytest.fixture
def wmrl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Wmrl:
    monkeypatch.setenv("COLUMNS", "160")
    return Wmrl(capsys)


def assert_one_line(error: str, *parts: str) -> None:
    assert error.startswith("wmrl: ") and error.count("\n") == 1, error
    assert all(part in error for part in parts), error


@pytest.mark.model
@pytest.mark.usefixtures("instant")
def test_train_goes_on_where_it_was_and_eval_scores_its_policy(wmrl: Wmrl, tmp_path: Path) -> None:
    arguments = ("train", "autoresearch", tmp_path / "run", *options(tiny(steps=1)))
    out, _ = wmrl(*arguments)
    assert f"Wrote {tmp_path / 'run'}" in out and "step 1/1" in out
    assert "step 1/1" in wmrl(*arguments)[0]
    evaluate = ("eval", "autoresearch", tmp_path / "run" / "policy", "--samples", 2)
    names = ("olive-area", "diabetes", "digits")
    out, _ = wmrl(*evaluate, "--tasks", *names, "--out", tmp_path / "scores", "--paper")
    assert all(name in out for name in (*names, "Avg (categories)", "Qwen3.5-9B-WMRL"))
    record = json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert set(record["tasks"]) == set(names) and len(record["samples"]) == 6
    assert record["command"].startswith("wmrl ") and "versions" in record
    for form, mark in (("md", "| percentile avg@2 |"), ("tex", r"\toprule")):
        assert mark in (tmp_path / "scores" / f"scores.{form}").read_text()


@pytest.mark.model
@pytest.mark.usefixtures("instant")
def test_eval_takes_a_folder_of_ones_own(wmrl: Wmrl, tmp_path: Path) -> None:
    folder = testing_tasks.write_task(tmp_path / "toy")
    out, _ = wmrl("eval", "autoresearch", "--tasks", folder, "--samples", 3)
    assert "toy" in out and "avg@3" in out


@pytest.mark.model
@pytest.mark.usefixtures("instant")
def test_collect_writes_a_log_and_its_settings(wmrl: Wmrl, tmp_path: Path) -> None:
    out, _ = wmrl("collect", tmp_path / "log", *options(tiny()))
    assert str(tmp_path / "log" / "log.jsonl") in out
    assert RunConfig.read(tmp_path / "log" / "config.json") == tiny()
    assert len(read_lines(tmp_path / "log" / "log.jsonl")) == 6


@pytest.mark.model
@pytest.mark.usefixtures("dead")
def test_a_dead_sandbox_is_one_line(wmrl: Wmrl, tmp_path: Path) -> None:
    for arguments in (("collect", tmp_path), ("train", "autoresearch", tmp_path)):
        _, err = wmrl(*arguments, *options(tiny()), code=2)
        assert_one_line(err, "sandbox failed on all of 6 programs")


@pytest.mark.model
@pytest.mark.usefixtures("dead")
def test_an_evaluation_on_a_dead_sandbox_is_not_a_score_of_zero(wmrl: Wmrl) -> None:
    out, _ = wmrl("eval", "autoresearch", "--tasks", "digits", "--samples", 2, code=1)
    assert "not graded" in out and "avg@" not in out and "nan" not in out


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        (("train", "autoresearch", "{}", "--train-tasks", "digts"), ("train_tasks", "'digts'")),
        (("train", "autoresearch", "{}", "--policy", "{}/none"), ("policy", "cannot be loaded")),
        (("train", "autoresearch", "{}", "--log", "{}/none"), ("holds no execution log",)),
        (("train", "autoresearch", "{}/made", "--steps", "3"), ("made with steps=9, not 3",)),
        (("train", "autoresearch", "{}/broken"), ("config.json", "not the settings")),
        (("train", "autoresearch", "{}/file"), ("{}/file",)),
        (("collect", "{}", "--test-tasks", "digts"), ("test_tasks", "'digts'")),
        (("collect", "{}", "--policy", "{}/none"), ("policy", "cannot be loaded")),
        (("eval", "autoresearch", "{}/none"), ("policy", "cannot be loaded")),
        (("eval", "autoresearch", "--tasks", "digts"), ("'digts'", "'digits'")),
        (("eval", "autoresearch", "--samples", "0"), ("samples and turns", "got 0, 1")),
        (("eval", "autoresearch", "--out", "{}/file"), ("{}/file",)),
        (("demo", "--out", "{}/made", "--steps", "3"), ("made with", "steps=9, not 3")),
        (("demo", "--out", "{}/file"), ("{}/file",)),
        (("demo", "--out", "{}/new", "--steps", "0"), ("steps must be at least 1, got 0",)),
        (("demo", "--out", "{}/new", "--seeds", "0"), ("seeds must be at least 1, got 0",)),
        (("demo", "--out", "{}/new", "--processes", "0"), ("processes must be at least 1",)),
        (("demo", "--out", "{}/new", "--arms", "wmlr"), ("arm must be one of", "'wmlr'")),
        (("demo", "--out", "{}/new", "--arms", "wmrl", "wmrl"), ("must not repeat",)),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else None,
)
def test_a_users_mistake_is_one_line_and_leaves_no_run(
    wmrl: Wmrl, tmp_path: Path, command: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    RunConfig(steps=9).write(tmp_path / "made" / "config.json")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    (tmp_path / "file").touch()
    out, err = wmrl(*(word.format(tmp_path) for word in command), code=2)
    assert "Traceback" not in out
    assert_one_line(err, *(part.format(tmp_path) for part in parts))
    assert not (tmp_path / "new").exists()
    assert RunConfig.read(tmp_path / "made" / "config.json").steps == 9


@pytest.mark.parametrize("setting", [("--anchors", "2"), ("--group-size", "1"), ("--arm", "x")])
def test_a_setting_out_of_range_is_wrong_usage(
    wmrl: Wmrl, tmp_path: Path, setting: tuple[str, str]
) -> None:
    _, err = wmrl("train", "autoresearch", tmp_path / "run", *setting, code=2)
    assert setting[0][2:].replace("-", "_") in err and "Traceback" not in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_told_to_end_cleans_up_undisturbed(first: signal.Signals) -> None:
    # A suite that was started in the background may have inherited an ignored SIGINT.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    cleaned = []
    with pytest.raises(KeyboardInterrupt), stopped_by_signals():
        try:
            signal.raise_signal(first)
        finally:
            signal.raise_signal(signal.SIGTERM)
            cleaned.append(True)
    assert cleaned == [True]
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == handlers
    signal.signal(signal.SIGINT, inherited)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stopped_by_signals():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def finished_demo(root: Path) -> None:
    """A demo whose arms have all been trained."""
    base = RunConfig()
    base.write(root / "config.json")
    (root / "seed-0" / "log").mkdir(parents=True)
    write_costs(root / "seed-0" / "log" / "log_costs.json", Costs(100), 10_000)
    from testing_runs import evaluation

    for number, arm in enumerate(ARMS):
        lines = (evaluation(0, [0.4], [0.4]), evaluation(40, [0.5 + number / 10] * 2, [0.5], 9))
        folder = write_run(arm_folder(root, arm, 0), arm_config(base, arm, 0), *lines)
        (folder / "policy").mkdir()


def test_a_finished_demo_is_reported_again_without_training(wmrl: Wmrl, tmp_path: Path) -> None:
    finished_demo(tmp_path)
    out, _ = wmrl("demo", "--out", tmp_path)
    assert "WMRL came to the highest, 0.70" in out and "0.400" not in out
    table = (tmp_path / "table.md").read_text()
    assert table.count("\n| ") == 3 and "From a training reward of 0.40" in table
    assert len(list(tmp_path.glob("*.png"))) == 4
    assert json.loads((tmp_path / "command.json").read_text())["out"] == str(tmp_path)


def test_a_finished_demo_with_other_settings_is_refused(wmrl: Wmrl, tmp_path: Path) -> None:
    finished_demo(tmp_path)
    _, err = wmrl("demo", "--out", tmp_path, "--anchors", "0.3", code=2)
    assert_one_line(err, "anchors=0.1, not 0.3")
    assert RunConfig.read(tmp_path / "config.json") == RunConfig()


@pytest.fixture
def tiny_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """``wmrl demo`` with tiny arms; its processes are told so by their options."""
    settings = {k: v for k, v in TINY.items() if k not in ("steps", "anchors", "refit_every")}
    monkeypatch.setattr(demo, "RunConfig", lambda **given: RunConfig(**{**settings, **given}))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.model
@pytest.mark.sandbox
@pytest.mark.usefixtures("tiny_demo")
def test_a_demo_trains_its_arms_and_reports(wmrl: Wmrl, tmp_path: Path) -> None:
    out, _ = wmrl("demo", "--out", tmp_path, "--steps", 2, "--anchors", 0.5)
    assert all(title in out for title in ("WMRL", "pure world model", "anchor groups alone"))
    assert "executions" in out and "came to the highest" in out
    lines = {arm: read_lines(arm_folder(tmp_path, arm, 0) / "steps.jsonl") for arm in ARMS}
    assert {arm: [line["step"] for line in found] for arm, found in lines.items()} == {
        arm: [1, 2] for arm in ARMS
    }
    assert lines["world-model"][-1]["costs"]["executions"] == 0
    assert processes_about(tmp_path) == []
    again, _ = wmrl("demo", "--out", tmp_path, "--steps", 2, "--anchors", 0.5)
    assert again.splitlines()[-1] == out.splitlines()[-1]


INTERRUPTED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from testing_runs import TINY
from wmrl_envs.benchmarks import cli
from wmrl_envs.benchmarks.autoresearch import progress
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.commands import demo

settings = {{k: v for k, v in TINY.items() if k not in ("steps", "anchors", "refit_every")}}
demo.RunConfig = lambda **given: RunConfig(**{{**settings, **given}})
refresh, sent = progress.RunProgress.refresh, []

def interrupting(self):
    refresh(self)
    if not sent and any(Path({folder!r}).glob("seed-0/wmrl/checkpoint.pt")):
        sent.append(True)
        os.kill(os.getpid(), signal.SIGINT)

progress.RunProgress.refresh = interrupting
cli.main(["demo", "--out", {folder!r}, "--steps", "500", "--arms", "wmrl"])
"""


WAITS = """
import ctypes, os, signal, subprocess, sys

set_child_subreaper = 36
ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)
# A process that was started in the background may have inherited an ignored SIGINT.
signal.signal(signal.SIGINT, signal.SIG_DFL)
code = subprocess.call([sys.executable, "-c", sys.argv[1]])
while True:
    try:
        os.wait()
    except ChildProcessError:
        sys.exit(code)
"""
"""Runs a program, then waits for all that it may have left behind: that ends, or this does not."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.model
@pytest.mark.sandbox
def test_an_interrupted_demo_leaves_a_checkpoint_and_no_process(tmp_path: Path) -> None:
    program = INTERRUPTED.format(tests=str(Path(__file__).parent.parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", WAITS, program], capture_output=True, text=True)
    assert done.returncode == 130, done.stdout + done.stderr
    assert done.stderr.endswith("wmrl: interrupted\n")
    assert processes_about(tmp_path) == []
    assert (arm_folder(tmp_path, "wmrl", 0) / "checkpoint.pt").exists()
    assert list(tmp_path.rglob("*.partial")) == []
