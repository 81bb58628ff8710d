"""The wheel holds the whole tree under one import name, and works away from the tree."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import source_tree

UNPACKED_ONLY = ("benchmarks/results/",)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built offline from a copy of the tree, so that no old build folder leaks into it."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(source_tree.ROOT / name, source)
    for folder in source_tree.FOLDERS:
        shutil.copytree(source_tree.ROOT / folder, source / folder)
    command = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def contents(wheel: Path) -> list[Path]:
    """The files of the wheel without its metadata folder."""
    with zipfile.ZipFile(wheel) as archive:
        names = [Path(name) for name in archive.namelist() if not name.endswith("/")]
    return [name for name in names if not name.parts[0].endswith(".dist-info")]


def test_the_wheel_installs_one_top_level_name(contents: list[Path]) -> None:
    assert {path.parts[0] for path in contents} == {"wmrl_envs"}


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(contents: list[Path]) -> None:
    shipped = (p for p in source_tree.files() if not p.as_posix().startswith(UNPACKED_ONLY))
    assert set(contents) == {source_tree.installed_path(path) for path in shipped}


def test_every_folder_with_modules_is_a_regular_package() -> None:
    folders = {path.parent for path in source_tree.sources()}
    missing = [str(f) for f in folders if not (source_tree.ROOT / f / "__init__.py").is_file()]
    assert missing == [], "an __init__.py is missing"


def test_the_wheel_is_marked_as_typed(contents: list[Path]) -> None:
    assert Path("wmrl_envs/py.typed") in contents


def test_the_command_runs_from_the_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = "import wmrl_envs.benchmarks.cli as cli; print(cli.__file__); cli.main(['--version'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) in done.stdout.splitlines()[0]
