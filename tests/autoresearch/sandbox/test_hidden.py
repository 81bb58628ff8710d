"""Labels that lie inside the Python installation stay hidden, and the rest stays importable."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import wmrl_envs
from wmrl_envs.autoresearch.sandbox import Limits, Sandbox
from wmrl_envs.autoresearch.sandbox.forkserver.landlock import LIST, READ, read_all_but
from wmrl_envs.autoresearch.sandbox.forkserver.rootfs import places_to_hide
from wmrl_envs.autoresearch.sandbox.paths import import_path, resolve_hidden, system_paths

_LOOK = """
import os
def look(path):
    try:
        found = open(path, 'rb').read(64)
        print('READ' if found else 'EMPTY', path)
    except OSError as error:
        print('REFUSED', type(error).__name__)
"""


@pytest.fixture
def site_packages() -> Iterator[Path]:
    """An installation as a wheel leaves it, with answers inside the package."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        site = Path(folder) / "site-packages"
        (site / "wmrl_envs" / "data").mkdir(parents=True)
        (site / "wmrl_envs" / "data" / "answers.csv").write_text("CANARY")
        (site / "wmrl_envs" / "__init__.py").write_text("")
        (site / "an_installed_module.py").write_text("VALUE = 'importable'")
        yield site


@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_answers_in_an_installed_package_are_hidden_and_its_neighbours_are_not(
    site_packages: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.syspath_prepend(str(site_packages))
    answers = site_packages / "wmrl_envs" / "data" / "answers.csv"
    code = _LOOK + f"look({str(answers)!r}); import an_installed_module as m; print(m.VALUE)"
    with Sandbox(backend, preload=()) as sandbox:
        execution = sandbox.run(code)
        assert execution.stdout.split() == ["REFUSED", "FileNotFoundError", "importable"]
        listing = sandbox.run(f"import os; print(os.listdir({str(answers.parent.parent)!r}))")
        assert listing.stdout == "[]\n"


def test_without_hiding_the_same_answers_can_be_read(
    site_packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(site_packages))
    answers = site_packages / "wmrl_envs" / "data" / "answers.csv"
    with Sandbox(preload=(), hidden=()) as sandbox:
        execution = sandbox.run(_LOOK + f"look({str(answers)!r})")
    assert execution.stdout.split()[0] == "READ"


def test_this_package_cannot_be_found_by_a_job(either_sandbox: Sandbox) -> None:
    folder = Path(wmrl_envs.__file__).parent
    files = [str(path) for path in folder.rglob("*") if path.is_file()]
    code = _LOOK + f"for path in {files!r}: look(path)\nimport wmrl_envs"
    execution = either_sandbox.run(code, limits=Limits(tail_bytes=100 * len(files)))
    assert "READ" not in execution.stdout
    assert execution.stdout.count("REFUSED") == len(files)
    assert "ModuleNotFoundError" in execution.stderr or "ImportError" in execution.stderr


def test_labels_that_scikit_learn_bundles_are_hidden(either_sandbox: Sandbox) -> None:
    execution = either_sandbox.run(
        """
import os, sklearn
folder = os.path.join(os.path.dirname(sklearn.__file__), 'datasets')
print(os.listdir(folder + '/data'), os.listdir(folder + '/tests'), len(os.listdir(folder)) > 5)
"""
    )
    assert execution.stdout == "[] [] True\n"


@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_hidden_covers_what_lies_inside_the_data_of_a_job(backend: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        task = Path(folder)
        (task / "private").mkdir()
        (task / "private" / "answers.csv").write_text("CANARY")
        (task / "train.csv").write_text("id\n1\n")
        with Sandbox(backend, preload=(), hidden=(str(task / "private"),)) as strict:
            code = "import os; print(os.listdir('/data/private'), open('train.csv').read())"
            assert strict.run(code, ro_data={folder: "/data"}).stdout == "[] id\n1\n\n"


@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_a_job_hides_what_lies_inside_the_python_installation(
    backend: str, site_packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task folder may be anywhere, even in what every job sees: its answers stay hidden."""
    monkeypatch.syspath_prepend(str(site_packages))
    private, answers = site_packages / "task" / "private", "answers.csv"
    private.mkdir(parents=True)
    (private / answers).write_text("CANARY")
    code = _LOOK + f"look({str(private / answers)!r})"
    with Sandbox(backend, preload=()) as sandbox:
        assert sandbox.run(code).stdout.split()[0] == "READ"
        assert sandbox.run(code, hidden=(str(private),)).stdout.split()[0] == "REFUSED"
        assert sandbox.run(code, hidden=(str(private / answers),)).stdout.split()[0] != "READ"


def test_data_can_be_read_both_ways_and_not_written(either_sandbox: Sandbox) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        (Path(folder) / "train.csv").write_text("id\n1\n")
        code = """
print(open('train.csv').read() == open('/data/train.csv').read() == 'id\\n1\\n')
for path in ('train.csv', '/data/train.csv', '/data/new.csv'):
    try: open(path, 'w'); print('WRITTEN', path)
    except OSError: pass
"""
        assert either_sandbox.run(code, ro_data={folder: "/data"}).stdout == "True\n"
        assert (Path(folder) / "train.csv").read_text() == "id\n1\n"


def test_a_secret_is_hidden_wherever_its_parent_is_shown() -> None:
    shown = {"/opt/python": "/opt/python", "/home/u/task": "/data"}
    hidden = ["/opt/python/lib/x/answers", "/home/u/task/private", "/home/u", "/elsewhere"]
    assert places_to_hide(shown, hidden) == ["/data/private", "/opt/python/lib/x/answers"]


def test_landlock_grants_the_neighbours_of_a_secret_one_by_one(tmp_path: Path) -> None:
    for name in ("a", "b/answers", "b/c"):
        (tmp_path / name).mkdir(parents=True)
    rules = dict(read_all_but([str(tmp_path)], [str(tmp_path / "b" / "answers")]))
    assert rules == {
        str(tmp_path): LIST,
        str(tmp_path / "a"): READ,
        str(tmp_path / "b"): LIST,
        str(tmp_path / "b" / "c"): READ,
    }


def test_the_trainers_own_folders_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    project = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(project)
    assert project in sys.path
    assert project not in import_path()
    assert not any(project.startswith(path + "/") for path in system_paths())


def test_copies_for_another_visible_python_are_hidden_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "lib" / "python3.99" / "dist-packages" / "an_installed_package"
    (below / "data").mkdir(parents=True)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    assert str(tmp_path / "lib") in system_paths()
    assert resolve_hidden(["an_installed_package:data"]) == [str(below / "data")]


def test_a_project_in_usr_is_not_shown() -> None:
    shown = system_paths()
    for project in ("/usr/src/app", "/usr/local/src/app", "/usr/app"):
        assert not any(f"{project}/".startswith(f"{path}/") for path in shown)


@pytest.mark.parametrize("entry", ["relative/path", "not a package:x", ""])
def test_a_malformed_hidden_entry_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="hidden must hold"):
        resolve_hidden([entry])
