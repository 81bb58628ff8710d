"""The command line: help, exit codes, one-line errors, and what each command prints."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import testing_tasks

from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.standing import noise_of
from wmrl_envs.benchmarks import cli
from wmrl_envs.benchmarks.commands import checks
from wmrl_envs.benchmarks.commands.tasks import List
from wmrl_envs.errors import SandboxUnavailable

COPY_SAMPLE = (
    "import shutil\nshutil.copy('sample_submission.csv', 'submission.csv')\nprint('hello')\n"
)


class Wmrl:
    """Runs the command line in this process; an exit code other than the expected fails."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        out, err = self._capsys.readouterr()
        assert ended.value.code == code, out + err
        return out, err


@pytest.fixture
def wmrl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Wmrl:
    monkeypatch.setenv("COLUMNS", "120")
    return Wmrl(capsys)


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_names_every_command(wmrl: Wmrl, arguments: tuple[str, ...]) -> None:
    out, _ = wmrl(*arguments)
    assert all(command in out for command in ("tasks", "doctor"))


def test_version_is_that_of_the_distribution(wmrl: Wmrl) -> None:
    from importlib.metadata import version

    assert wmrl("--version")[0] == f"wmrl-envs {version('wmrl-envs')}\n"


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("tasks",), ("tasks", "list", "--split", "x")]
)
def test_wrong_usage_exits_with_code_2(wmrl: Wmrl, arguments: tuple[str, ...]) -> None:
    _, err = wmrl(*arguments, code=2)
    assert "Traceback" not in err


def test_tasks_list_names_every_task_of_the_split(wmrl: Wmrl) -> None:
    out, _ = wmrl("tasks", "list", "--split", "test")
    assert all(name in out for name in catalog.names("test"))
    assert not any(f" {name} " in out for name in catalog.names("train"))


def test_tasks_show_prints_what_a_policy_reads(wmrl: Wmrl) -> None:
    out, _ = wmrl("tasks", "show", "titanic")
    assert catalog.load("titanic").overview().rstrip("\n") in out


def test_tasks_show_card_prints_the_three_lines_alone(wmrl: Wmrl) -> None:
    out, _ = wmrl("tasks", "show", "titanic", "--card")
    assert out == catalog.load("titanic").card()


def test_tasks_show_takes_a_folder(wmrl: Wmrl, tmp_path: Path) -> None:
    shutil.copytree(catalog.load("titanic").folder, tmp_path / "mine")
    out, _ = wmrl("tasks", "show", str(tmp_path / "mine"), "--card")
    assert out == catalog.load("titanic").card()


def test_tasks_list_marks_boards_that_are_mostly_noise(wmrl: Wmrl) -> None:
    out, _ = wmrl("tasks", "list")
    marked = {line.split()[1] for line in out.splitlines() if "│" in line and " ! " in line}
    noises = {task.name: noise_of(task) for task in catalog.resolve("all")}
    assert marked == {name for name, noise in noises.items() if noise and noise.mostly_noise}
    assert marked


def test_tasks_show_prints_medals_and_noise_beside_the_text(wmrl: Wmrl) -> None:
    out, _ = wmrl("tasks", "show", "diabetes")
    noise = noise_of(catalog.load("diabetes"))
    assert noise is not None and noise.mostly_noise
    for part in ("gold medal", "bronze medal", f"{noise.standard_error:.4g}", "mostly noise"):
        assert part in out
    assert "mostly noise" not in wmrl("tasks", "show", "diamonds")[0]


def test_tasks_check_finds_nothing_in_bundled_tasks(wmrl: Wmrl) -> None:
    out, _ = wmrl("tasks", "check", "titanic", "digits")
    assert out == "2 tasks checked: no fault and no leak found.\n"


def test_tasks_check_exits_with_code_1_on_a_leak(wmrl: Wmrl, tmp_path: Path) -> None:
    folder = testing_tasks.write_task(tmp_path / "toy", notes=testing_tasks.ANSWERS)
    out, _ = wmrl("tasks", "check", str(folder), "titanic", code=1)
    assert "'target' of notes.csv holds the answers of 'target'" in out
    assert all(line.startswith(str(folder)) for line in out.splitlines())


def test_tasks_check_exits_with_code_1_on_a_broken_format(wmrl: Wmrl, tmp_path: Path) -> None:
    folder = testing_tasks.write_task(tmp_path / "toy", answers="id,target\n10,1\n10,0\n")
    out, _ = wmrl("tasks", "check", str(folder), code=1)
    assert "id '10' occurs twice" in out


def test_tasks_check_goes_on_after_a_folder_of_no_known_format(wmrl: Wmrl, tmp_path: Path) -> None:
    folder = testing_tasks.write_task(tmp_path / "toy", notes=testing_tasks.ANSWERS)
    (tmp_path / "empty").mkdir()
    out, _ = wmrl("tasks", "check", str(tmp_path / "empty"), str(folder), code=1)
    assert "no task of a known format" in out and "holds the answers of 'target'" in out


@pytest.mark.parametrize("arguments", [("show", "titanc"), ("run", "titanc", "solution.py")])
def test_an_unknown_task_is_one_line_with_a_suggestion(
    wmrl: Wmrl, arguments: tuple[str, ...]
) -> None:
    out, err = wmrl("tasks", *arguments, code=2)
    assert (out, err.count("\n")) == ("", 1)
    assert "'titanc'" in err and "'titanic'" in err


def test_a_folder_that_is_no_task_is_one_line(wmrl: Wmrl, tmp_path: Path) -> None:
    _, err = wmrl("tasks", "show", str(tmp_path), code=2)
    assert err.count("\n") == 1 and "task.toml" in err


def test_a_missing_program_is_one_line(wmrl: Wmrl, tmp_path: Path) -> None:
    _, err = wmrl("tasks", "run", "titanic", str(tmp_path / "absent.py"), code=2)
    assert err.count("\n") == 1 and "absent.py" in err


def test_a_program_that_does_not_compile_is_graded_without_a_sandbox(
    wmrl: Wmrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wmrl_envs.autoresearch.execution.Sandbox", None)
    (tmp_path / "solution.py").write_text("print(")
    out, _ = wmrl("tasks", "run", "titanic", str(tmp_path / "solution.py"), code=1)
    assert "syntax_error" in out and "line 1" in out


@pytest.mark.sandbox
def test_a_valid_program_is_executed_and_graded(wmrl: Wmrl, tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_text(COPY_SAMPLE)
    out, _ = wmrl("tasks", "run", "titanic", str(tmp_path / "solution.py"))
    assert all(word in out for word in ("hello", "valid", "logloss", "position", "reward"))


@pytest.mark.sandbox
def test_a_program_that_fails_exits_with_code_1_and_shows_its_error(
    wmrl: Wmrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("raise KeyError('no such [column]')"))
    out, _ = wmrl("tasks", "run", "titanic", "-", code=1)
    assert "runtime_error" in out and "no such [column]" in out


def test_without_a_sandbox_the_user_is_sent_to_the_doctor(
    wmrl: Wmrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wmrl_envs.autoresearch.execution.Sandbox", NoSandbox)
    (tmp_path / "solution.py").write_text(COPY_SAMPLE)
    _, err = wmrl("tasks", "run", "titanic", str(tmp_path / "solution.py"), code=2)
    assert err.count("\n") == 1 and "EPERM" in err and "wmrl doctor" in err


def test_an_interrupt_exits_with_code_130(wmrl: Wmrl, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(List, "run", interrupted)
    assert wmrl("tasks", "list", code=130) == ("", "wmrl: interrupted\n")


def run_into(stdout: Any, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "wmrl_envs.benchmarks.cli", *arguments]
    ended = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("tasks", "show", "titanic")])
def test_a_reader_that_went_away_ends_it_without_a_word(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        assert run_into(pipe, *arguments) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("--help",), ("tasks", "show", "titanic")])
def test_a_full_disk_is_one_line(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        code, err = run_into(full, *arguments)
    assert (code, err.count("\n")) == (2, 1) and "No space left" in err


def test_a_cache_that_cannot_be_written_is_one_line(
    wmrl: Wmrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    _, err = wmrl("tasks", "list", code=2)
    assert err.count("\n") == 1 and str(tmp_path / "file") in err


@pytest.mark.sandbox
def test_the_doctor_is_content_with_a_machine_that_passes_the_tests(wmrl: Wmrl) -> None:
    out, _ = wmrl("doctor")
    assert all(word in out for word in ("Python", "seccomp", "bubblewrap", "RaySandbox", "EGL"))


class NoSandbox:
    """A sandbox on a machine without namespaces."""

    def __init__(self, *_: object, **__: object) -> None:
        raise SandboxUnavailable("unshare(user): EPERM: switch on user namespaces")


def test_the_doctor_fails_where_the_default_sandbox_is_unavailable(
    wmrl: Wmrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wmrl_envs.autoresearch.sandbox.Sandbox", NoSandbox)
    out, _ = wmrl("doctor", code=1)
    assert "EPERM: switch on user namespaces" in out and "default sandbox" in out


def test_the_doctor_names_a_package_that_is_missing_and_how_to_get_it(
    wmrl: Wmrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    requires = ["numpy>=99", "no-such-package>=1", "no-such-extra>=2; extra == 'libero'"]
    monkeypatch.setattr(checks.importlib.metadata, "requires", lambda _: requires)
    core, extras = list(checks.core_packages()), {check.name: check for check in checks.extras()}
    assert [check.state for check in core] == ["failed", "failed"]
    assert "does not satisfy >=99" in core[0].detail
    assert core[1].remedy == "pip install 'no-such-package>=1'"
    assert extras["libero"].state == "missing"
    assert extras["libero"].remedy == "pip install 'no-such-extra>=2'"


def test_the_doctor_says_what_bubblewrap_and_ray_lack_and_does_not_mind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wmrl_envs.autoresearch.sandbox.Sandbox", NoSandbox)
    monkeypatch.setattr(checks, "_version", lambda _: None)
    found = {check.name: check for check in checks.sandbox()}
    assert (found["bubblewrap"].state, found["RaySandbox"].state) == ("missing", "missing")
    assert "EPERM" in found["bubblewrap"].detail
    assert found["RaySandbox"].remedy == "pip install 'wmrl-envs[ray]'"
