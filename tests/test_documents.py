"""What the documents name exists: commands, options, make targets, examples; no machine paths."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import source_tree

from wmrl_envs.benchmarks import cli

DOCUMENTS = sorted(
    [*source_tree.ROOT.glob("*.md"), *source_tree.ROOT.glob("docs/**/*.md")], key=str
)
SHELL = ("bash", "sh", "shell", "console")
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:work/\w|root/\.|tmp/pytest-)[\w./-]*")


def fenced(document: Path, *languages: str) -> list[str]:
    """The bodies of the fenced blocks in one of the languages."""
    text = document.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [body for language, body in blocks if language in languages]


def commands(program: str) -> list[list[str]]:
    """The command lines of all documents that start with a program, without that program."""
    lines = {
        line.removeprefix("$ ")
        for document in DOCUMENTS
        for block in fenced(document, *SHELL)
        for line in block.replace("\\\n", " ").splitlines()
    }
    split = [shlex.split(line, comments=True) for line in sorted(lines)]
    return [words[1:] for words in split if words and Path(words[0]).name == program]


def test_the_readme_starts_with_the_command_that_runs_and_the_command_that_tests() -> None:
    assert fenced(source_tree.ROOT / "README.md", *SHELL)[0].splitlines() == [
        "make demo",
        "make test",
    ]


@pytest.mark.parametrize("words", commands("wmrl"), ids=" ".join)
def test_every_documented_command_and_option_exists(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([*words, "--help"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    # Help stops at the first word that is no subcommand, and then still lists the subcommands.
    assert words == ["--help"] or not re.search(r"^\W*subcommands\W*$", out, re.MULTILINE)
    assert [w for w in words if w.startswith("--") and w.split("=")[0] not in out] == []


@pytest.mark.parametrize("words", commands("make"), ids=" ".join)
def test_every_documented_make_target_exists(words: list[str]) -> None:
    done = subprocess.run(
        ["make", "-n", *words], cwd=source_tree.ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("example", [e for d in DOCUMENTS for e in fenced(d, "python")])
def test_every_python_example_runs(example: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_no_tracked_file_names_a_path_of_somebodys_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=source_tree.ROOT, capture_output=True, text=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    found = {
        name: matches
        for name in listed.stdout.split("\0")
        if (matches := MACHINE_PATH.findall(readable_text(source_tree.ROOT / name)))
    }
    assert found == {}


def readable_text(path: Path) -> str:
    """A file's text; "" for folders, binary files and files that are gone."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


@pytest.mark.parametrize(
    "table",
    sorted((source_tree.ROOT / "benchmarks" / "results").glob("*/table.md")),
    ids=lambda path: path.parent.name,
)
def test_a_document_quotes_the_committed_results(table: Path) -> None:
    rows = [line for line in table.read_text().splitlines() if line.startswith("|")]
    assert any("\n".join(rows) in document.read_text() for document in DOCUMENTS)


def test_the_experts_successes_are_those_of_the_committed_results() -> None:
    path = source_tree.ROOT / "benchmarks" / "results" / "libero_expert" / "results.json"
    splits = json.loads(path.read_text())["success"]
    text = (source_tree.ROOT / "docs" / "libero.md").read_text()
    for split in ("train", "heldout"):
        found = splits[split]
        assert f"{found['successes']} times out of {found['episodes']}" in text
