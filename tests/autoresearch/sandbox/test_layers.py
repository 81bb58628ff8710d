"""The layers are there, and each holds its part with the others off."""

import contextlib
import os
from collections.abc import Callable, Iterator

import pytest

from wmrl_envs.autoresearch.sandbox import Execution, Job, Limits, Sandbox, paths
from wmrl_envs.autoresearch.sandbox import sandbox as sandbox_module
from wmrl_envs.autoresearch.sandbox.backends import Candidate
from wmrl_envs.autoresearch.sandbox.client import ForkServer, land, launch
from wmrl_envs.errors import SandboxUnavailable

ALL = ("namespaces", "rlimits", "landlock", "seccomp")
Run = Callable[[str], Execution]


def test_every_layer_is_available_on_this_machine(sandbox: Sandbox) -> None:
    """No skip: where this fails, the attack tests prove nothing."""
    report = sandbox.report()
    assert report.level == "namespaces"
    assert report.refused == ()
    assert {"user", "mnt", "pid", "net", "ipc", "uts", "landlock", "seccomp"} <= set(report.layers)
    assert report.landlock_abi >= 1
    assert "namespaces" in str(report)


@pytest.fixture(params=[()], ids=["none"])
def run_with(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs scripts in a server with the layers of ``request.param`` alone."""
    environment = paths.server_environment(os.environ)
    server = ForkServer(
        {
            "layers": request.param,
            "path": paths.import_path(),
            "system": paths.system_paths(),
            "hidden": [],
            "environment": environment,
            "preload": [],
            "drop_uid": 61000 if "namespaces" in request.param else -1,
        },
        environment,
    )
    limits = Limits(wall_s=10, processes=8, open_files=64, file_mb=1, disk_mb=8)
    yield lambda code: land(launch(server, Job(code), limits), "forkserver", ())
    server.stop()


def only(*layers: str) -> pytest.MarkDecorator:
    """Parametrizes a test with the layers that are on."""
    return pytest.mark.parametrize("run_with", [layers], indirect=True, ids=["+".join(layers)])


_READ_HOST = "import os; print(os.path.exists('/etc/shadow'))"
_INET = "import socket; socket.socket(); print('had')"
_UNSHARE = (
    "import ctypes; print('had' if ctypes.CDLL(None).unshare(0x10000000) == 0 else 'refused')"
)


@only("rlimits")
def test_without_isolation_the_host_is_in_view(run_with: Run) -> None:
    """The counterpart of the tests below: what they find closed is open otherwise."""
    assert run_with(_READ_HOST).stdout == "True\n"
    assert run_with(_INET).stdout == "had\n"


@only("namespaces")
def test_namespaces_alone_hide_files_processes_and_the_network(run_with: Run) -> None:
    assert run_with(_READ_HOST).stdout == "False\n"
    pids = "import os; print([p for p in os.listdir('/proc') if p.isdigit()])"
    assert run_with(pids).stdout == "['1']\n"
    interfaces = "print([line.split(':')[0].strip() for line in open('/proc/net/dev')][2:])"
    assert run_with(interfaces).stdout == "['lo']\n"


@only("landlock")
def test_landlock_alone_refuses_files_and_tcp(run_with: Run) -> None:
    assert "PermissionError" in run_with("open('/etc/shadow')").stderr
    assert "PermissionError" in run_with("open('/var/tmp/planted', 'w')").stderr
    connect = "import socket; s = socket.socket(); s.settimeout(1); s.connect(('127.0.0.1', 9))"
    assert "PermissionError" in run_with(connect).stderr


@only("seccomp")
def test_seccomp_alone_refuses_sockets_and_namespaces(run_with: Run) -> None:
    assert "PermissionError" in run_with(_INET).stderr
    assert run_with(_UNSHARE).stdout == "refused\n"


@only("rlimits")
def test_rlimits_alone_bound_files_and_descriptors(run_with: Run) -> None:
    assert "File too large" in run_with("open('x', 'wb').write(bytes(2 << 20))").stderr
    assert "Too many open files" in run_with("f = [open('x', 'w') for _ in range(99)]").stderr


@only("namespaces")
def test_the_quota_alone_bounds_the_disk(run_with: Run) -> None:
    code = "for i in range(99): open(f'{i}', 'wb').write(bytes(1 << 20))"
    assert "No space left" in run_with(code).stderr


def test_a_level_that_is_refused_says_which_primitive_why_and_what_helps() -> None:
    """Inside a job no further namespace can be had, so a sandbox there must say so."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(paths.__file__)))
    with Sandbox(preload=(), hidden=()) as outer:
        code = """
import sys
sys.path.append('/data/sandbox')
from forkserver import primitives
try: primitives.unshare('user', 'mnt')
except primitives.PrimitiveError as error: print(error)
"""
        message = outer.run(code, ro_data={folder: "/data"}).stdout
    for part in ("unshare(user,mnt)", "EPERM", "user.max_user_namespaces", "min_level='landlock'"):
        assert part in message


def test_sandbox_unavailable_names_the_refused_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def __init__(self, *arguments: object) -> None:
            raise SandboxUnavailable("unshare(user): EPERM (not permitted); do this")

    monkeypatch.setattr("wmrl_envs.autoresearch.sandbox.keeper.ForkServer", Refusing)
    with pytest.raises(SandboxUnavailable, match="EPERM"):
        Sandbox().run("pass")


def test_unsafe_needs_an_explicit_word() -> None:
    with pytest.raises(ValueError, match="allow_unsafe"):
        Sandbox(min_level="unsafe")


def test_resource_limits_alone_come_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sandbox_module, "candidates", lambda *_: [Candidate("forkserver", "unsafe")]
    )
    with Sandbox(preload=(), min_level="unsafe", allow_unsafe=True) as sandbox:
        with pytest.warns(UserWarning, match="resource limits alone"):
            # Root's Python may lie where the user that its jobs run as cannot read.
            with contextlib.suppress(SandboxUnavailable):
                sandbox.report()
