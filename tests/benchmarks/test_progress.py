"""The bars read what runs write, also while they write it."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from testing_runs import evaluation

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.progress import RunProgress, follow_in_thread
from wmrl_envs.benchmarks.autoresearch.records import append_line


def shown(folders: dict[str, Path]) -> str:
    """What is on the screen at the end."""
    screen = io.StringIO()
    with RunProgress(Console(file=screen, width=120), folders, steps=4) as progress:
        progress.refresh()
    return screen.getvalue()


def write_step(folder: Path, step: int) -> None:
    append_line(folder / "steps.jsonl", {"step": step, "costs": {"executions": 10 * step}})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    RunConfig().write(tmp_path / "config.json")
    return tmp_path


def test_a_run_that_has_not_begun_waits(tmp_path: Path) -> None:
    assert "waiting" in shown({"wmrl": tmp_path / "absent"})


def test_a_run_is_at_its_last_step(folder: Path) -> None:
    assert "starting" in shown({"wmrl": folder})
    for step in (1, 2):
        write_step(folder, step)
    append_line(folder / "evaluations.jsonl", evaluation(0, [0.2, 0.4], []))
    text = shown({"wmrl": folder})
    assert "step 2/4" in text and "20 executions, evaluated 0.30" in text


def test_a_line_in_the_making_is_not_read(folder: Path) -> None:
    write_step(folder, 1)
    with (folder / "steps.jsonl").open("a") as file:
        file.write('{"step": 2, "co')
    assert "step 1/4" in shown({"wmrl": folder})


def test_nothing_graded_is_not_shown_as_zero(folder: Path) -> None:
    append_line(folder / "evaluations.jsonl", evaluation(0, [], []))
    assert "evaluated nothing" in shown({"wmrl": folder})


def test_what_grows_is_followed(folder: Path) -> None:
    screen = io.StringIO()
    with RunProgress(Console(file=screen, width=120), {"wmrl": folder}, steps=4) as progress:
        progress.refresh()
        write_step(folder, 3)
    assert "step 3/4" in screen.getvalue()


def test_a_thread_follows_until_the_work_is_done(folder: Path) -> None:
    screen = io.StringIO()
    with follow_in_thread(Console(file=screen, width=120), {"wmrl": folder}, steps=4):
        write_step(folder, 4)
    assert "step 4/4" in screen.getvalue()


def test_a_thread_ends_when_the_work_fails(folder: Path) -> None:
    with (
        pytest.raises(KeyError),
        follow_in_thread(Console(file=io.StringIO()), {"wmrl": folder}, steps=4),
    ):
        raise KeyError("no such thing")
