"""Without namespaces, Landlock and seccomp still keep labels, network and other processes away."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from wmrl_envs.autoresearch.sandbox import Limits, Sandbox
from wmrl_envs.autoresearch.sandbox import sandbox as sandbox_module
from wmrl_envs.autoresearch.sandbox.backends import Candidate
from wmrl_envs.errors import SandboxUnavailable

_LOOK = """
import os
def attempt(action):
    try: return action()
    except BaseException as error: return error
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """The level below namespaces, asked for alone."""
    patch = pytest.MonkeyPatch()
    patch.setattr(sandbox_module, "candidates", lambda *_: [Candidate("forkserver", "landlock")])
    opened = Sandbox(preload=("numpy",), min_level="landlock", limits=Limits(wall_s=20))
    patch.undo()
    if os.getuid() == 0:
        pytest.skip("run by an ordinary user, see test_ordinary_user.py")
    yield opened
    opened.close()


@pytest.mark.skipif(os.getuid() != 0, reason="about root")
def test_root_cannot_have_this_level_with_a_python_in_its_own_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if os.stat("/root").st_mode & 0o005 or not sys.base_prefix.startswith("/root/"):
        pytest.skip("this Python can be read by all")
    monkeypatch.setattr(
        sandbox_module, "candidates", lambda *_: [Candidate("forkserver", "landlock")]
    )
    with pytest.raises(SandboxUnavailable, match=r"EACCES.*ordinary user"):
        Sandbox(preload=()).report()


def test_the_level_says_what_it_is(sandbox: Sandbox) -> None:
    assert sandbox.report().level == "landlock"
    assert "pid" not in sandbox.run("pass").layers


def test_an_ordinary_script_runs(sandbox: Sandbox) -> None:
    execution = sandbox.run("import numpy; open('submission.csv', 'w').write(str(numpy.ones(2)))")
    assert execution.artifact == b"[1. 1.]", execution


def test_data_is_linked_into_the_working_directory(sandbox: Sandbox) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        Path(folder, "train.csv").write_text("id\n")
        assert sandbox.run("print(open('train.csv').read())", ro_data={folder: "/data"}).stdout


def test_files_outside_are_neither_read_nor_written(sandbox: Sandbox) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        Path(folder, "labels.csv").write_text("CANARY")
        execution = sandbox.run(
            _LOOK
            + f"""
print(attempt(lambda: open({folder!r} + '/labels.csv').read()))
print(attempt(lambda: open({folder!r} + '/planted', 'w')))
print(attempt(lambda: open('/dev/shm/planted', 'w')))
"""
        )
        assert execution.stdout.count("Permission denied") == 3, execution
        assert os.listdir(folder) == ["labels.csv"]


def test_labels_that_scikit_learn_bundles_are_hidden(sandbox: Sandbox) -> None:
    execution = sandbox.run(
        _LOOK
        + """
import sklearn
path = os.path.join(os.path.dirname(sklearn.__file__), 'datasets', 'data', 'iris.csv')
print(attempt(lambda: open(path).read()))
"""
    )
    assert "Permission denied" in execution.stdout, execution


@pytest.mark.parametrize("family", ["AF_INET", "AF_UNIX"])
def test_no_socket_can_be_had(sandbox: Sandbox, family: str) -> None:
    execution = sandbox.run(f"import socket; socket.socket(socket.{family})")
    assert "PermissionError" in execution.stderr


def test_the_supervisor_and_the_trainer_cannot_be_signalled(sandbox: Sandbox) -> None:
    code = f"""
import signal
for pid in (os.getppid(), {os.getpid()}): print(attempt(lambda: os.kill(pid, 0)))
"""
    execution = sandbox.run(_LOOK + code)
    assert execution.stdout.count("not permitted") == 2, execution


def test_children_of_a_job_end_with_it(sandbox: Sandbox) -> None:
    code = """
import os, time
pid = os.fork()
if pid == 0:
    os.setsid(); os.closerange(0, 10); time.sleep(300)
print(pid)
"""
    execution = sandbox.run(code)
    assert execution.status == "ok"
    assert not Path(f"/proc/{int(execution.stdout)}").exists()


def test_the_working_directory_is_removed(sandbox: Sandbox) -> None:
    execution = sandbox.run("import os; print(os.getcwd())")
    assert not Path(execution.stdout.strip()).exists()
