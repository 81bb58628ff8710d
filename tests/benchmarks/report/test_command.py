"""``wmrl report``."""

from pathlib import Path

import pytest

from wmrl_envs.benchmarks import cli


def run(*arguments: object) -> object:
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    return ended.value.code


def test_it_writes_the_page(
    comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "pages" / "report.html"
    assert run("report", comparison, "--out", out, "--title", "a & b") == 0
    assert "6 runs" in capsys.readouterr().out
    assert "<h1>a &amp; b</h1>" in out.read_text(encoding="utf-8")


def test_a_folder_without_runs_is_one_line_of_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("report", tmp_path, "--out", tmp_path / "x.html") == 2
    assert run("report", "--out", tmp_path / "x.html") == 2
    errors = capsys.readouterr().err.strip().split("\n")
    assert "holds no run" in errors[0] and "at least one run folder" in errors[-1]
    assert not (tmp_path / "x.html").exists()
