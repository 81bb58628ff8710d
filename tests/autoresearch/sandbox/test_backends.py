"""Which backend is taken, what is refused and why: refusals are the kernel's own (see
``without_calls``), since a version number proves nothing."""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import as_user
import pytest
import without_calls

from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.errors import SandboxUnavailable

_PROJECT = str(Path(__file__).parents[3])
_REPORT = """
import json, sys, warnings
from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.errors import SandboxUnavailable
try:
    with warnings.catch_warnings(record=True) as caught, Sandbox(preload=(), **{arguments!r}) as s:
        report = s.report()
        found = dict(vars(report), ran=s.run({code!r}, ro_data={data!r}).stdout)
        found['warnings'] = [str(one.message) for one in caught]
except SandboxUnavailable as error:
    found = dict(unavailable=str(error))
print(json.dumps(found))
"""


def _sandbox_without(
    calls: list[str],
    code: str = "print('ran')",
    data: dict[str, str] | None = None,
    **arguments: Any,
) -> dict[str, Any]:
    """What a sandbox says of itself to an ordinary user where these calls are refused."""
    script = _REPORT.format(arguments=arguments, code=code, data=data or {})
    command = [sys.executable, without_calls.__file__, *calls, "--", sys.executable, "-c", script]
    if os.getuid() == 0:
        command = [sys.executable, as_user.__file__, _PROJECT, *command]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd="/", env={**os.environ, "HOME": "/tmp"}
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_fork_server_is_taken_where_both_can_be_had() -> None:
    found = _sandbox_without([])
    assert (found["backend"], found["level"], found["refused"]) == ("forkserver", "namespaces", [])
    assert found["ran"] == "ran\n"


def test_bubblewrap_is_taken_where_namespaces_are_allowed_to_it_alone() -> None:
    found = _sandbox_without(["unshare=EPERM"])
    assert (found["backend"], found["level"]) == ("bubblewrap", "namespaces")
    assert found["ran"] == "ran\n"
    assert {"user", "mnt", "pid", "net", "ipc", "uts", "seccomp"} <= set(found["layers"])
    assert found["refused"][0].startswith("namespaces: unshare(user")
    assert "EPERM" in found["refused"][0]


def test_where_no_namespace_can_be_had_each_refusal_is_named() -> None:
    message = _sandbox_without(["unshare=EPERM", "clone=EPERM"])["unavailable"]
    own, by_bubblewrap = message.split("; namespaces by bubblewrap: ")
    for part in ("unshare(user", "EPERM", "user.max_user_namespaces", "min_level='landlock'"):
        assert part in own
    for part in ("bwrap: No permissions", "EPERM", "user.max_user_namespaces", "AppArmor"):
        assert part in by_bubblewrap


def test_landlock_alone_is_taken_only_where_it_is_asked_for() -> None:
    found = _sandbox_without(["unshare=EPERM", "clone=EPERM"], min_level="landlock")
    assert (found["backend"], found["level"], found["ran"]) == ("forkserver", "landlock", "ran\n")
    assert len(found["refused"]) == 2
    assert found["warnings"] == []


def test_limits_alone_are_taken_last_and_with_a_warning() -> None:
    calls = ["unshare=EPERM", "clone=EPERM", "landlock_create_ruleset=ENOSYS"]
    found = _sandbox_without(calls, allow_unsafe=True)
    assert (found["level"], found["ran"]) == ("unsafe", "ran\n")
    assert "resource limits alone" in found["warnings"][0]
    assert "landlock_create_ruleset: ENOSYS" in found["refused"][2]
    assert "unavailable" in _sandbox_without(calls, min_level="landlock")


@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_a_kernel_without_landlock_keeps_every_other_layer(backend: str) -> None:
    found = _sandbox_without(["landlock_create_ruleset=ENOSYS"], backend=backend)
    assert (found["backend"], found["level"]) == (backend, "namespaces")
    assert "landlock" not in found["layers"]
    assert found["refused"] == ["landlock: this kernel has none"]


@pytest.fixture
def open_folder() -> Iterator[str]:
    """A folder in which anyone may write."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o777)
        yield folder


@pytest.mark.parametrize("calls", [[], ["mount_setattr=ENOSYS"]], ids=["new", "before 5.12"])
def test_data_is_mounted_read_only_on_old_kernels_too(open_folder: str, calls: list[str]) -> None:
    """Without Landlock, so that nothing but the mount itself refuses."""
    found = _sandbox_without(
        [*calls, "landlock_create_ruleset=ENOSYS"],
        code="""
import os
print(os.access('/data', os.X_OK))
try: open('/data/planted', 'w')
except OSError as error: print(error.strerror)
""",
        data={open_folder: "/data"},
        backend="forkserver",
    )
    assert found["ran"] == "True\nRead-only file system\n"
    assert os.listdir(open_folder) == []


def test_bubblewrap_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxUnavailable, match=r"exec bwrap: ENOENT.*apt-get install bubblewrap"):
        Sandbox("bubblewrap").report()


@pytest.fixture(scope="module")
def other_python() -> Iterator[str]:
    """An interpreter that is not this one, with a module of its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        venv.create(folder, symlinks=True)
        [site] = Path(folder).glob("lib/python*/site-packages")
        (site / "only_here.py").write_text("VALUE = 'of the other interpreter'")
        yield f"{folder}/bin/python"


@pytest.mark.parametrize("backend", ["auto", "bubblewrap"])
def test_another_interpreter_runs_in_bubblewrap(other_python: str, backend: str) -> None:
    code = "import sys, only_here; print(sys.executable, only_here.VALUE)\nimport numpy"
    with Sandbox(backend, python=other_python) as sandbox:
        assert sandbox.report().backend == "bubblewrap"
        execution = sandbox.run(code)
    assert execution.stdout == f"{other_python} of the other interpreter\n"
    assert "ModuleNotFoundError" in execution.stderr


def test_the_interpreter_of_the_trainer_may_be_named() -> None:
    with Sandbox("forkserver", python=sys.executable, preload=()) as sandbox:
        assert sandbox.run("print(1)").stdout == "1\n"


def test_the_fork_server_cannot_run_another_interpreter(other_python: str) -> None:
    with pytest.raises(ValueError, match=r"python=.* needs backend='bubblewrap' or 'auto'"):
        Sandbox("forkserver", python=other_python)


@pytest.mark.parametrize("python", ["/no/such/python", "true"])
def test_a_python_that_is_none_is_named(python: str) -> None:
    with pytest.raises(ValueError, match=f"python must be a .*{python}"):
        Sandbox(python=python)
