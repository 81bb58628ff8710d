"""The layers are there, and each holds its part with the others off."""

import contextlib
import ctypes
import os
import socket
from collections.abc import Callable, Iterator

import pytest

from wmrl_envs.autoresearch.sandbox import Execution, Job, Limits, Sandbox, paths
from wmrl_envs.autoresearch.sandbox import sandbox as sandbox_module
from wmrl_envs.autoresearch.sandbox.backends import Blueprint, Candidate
from wmrl_envs.autoresearch.sandbox.client import ForkServer, land, launch
from wmrl_envs.autoresearch.sandbox.forkserver import landlock
from wmrl_envs.autoresearch.sandbox.interpreter import Interpreter
from wmrl_envs.errors import SandboxUnavailable

Run = Callable[..., Execution]


def test_every_layer_is_available_on_this_machine(sandbox: Sandbox) -> None:
    """No skip: where this fails, the attack tests prove nothing."""
    report = sandbox.report()
    assert report.level == "namespaces"
    assert report.refused == ()
    assert {"user", "mnt", "pid", "net", "ipc", "uts", "landlock", "seccomp"} <= set(report.layers)
    assert report.landlock_abi >= 1
    assert "namespaces" in str(report)


@pytest.fixture
def run_with(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs scripts in a server of a backend, with some layers alone."""
    backend, layers = request.param
    blueprint = Blueprint(Interpreter.current(), (), ())
    server_request, environment = blueprint.server(Candidate(backend, "namespaces"))
    # Without namespaces root stays root: its Python may lie where no other user can read it.
    uid = 61000 if "namespaces" in layers else -1
    server = ForkServer({**server_request, "layers": layers, "drop_uid": uid}, environment)

    def run(code: str, **limits: float) -> Execution:
        small = {"wall_s": 60, "processes": 8, "open_files": 64, "file_mb": 1, "disk_mb": 8}
        chosen = Limits(**{**small, **limits})  # type: ignore[arg-type]
        return land(launch(server, Job(_PRELUDE + code), chosen), backend, ())

    yield run
    server.stop()


def only(*layers: str, backend: str = "forkserver") -> pytest.MarkDecorator:
    """Parametrizes a test with the layers that are on."""
    name = f"{backend}-{'+'.join(layers) or 'none'}"
    return pytest.mark.parametrize("run_with", [(backend, layers)], indirect=True, ids=[name])


def namespaces_alone(test: Run) -> Run:
    """Runs a test with each of the two that make namespaces, and nothing else."""
    both = [("forkserver", ("namespaces",)), ("bubblewrap", ("namespaces",))]
    return pytest.mark.parametrize(
        "run_with", both, indirect=True, ids=["forkserver", "bubblewrap"]
    )(test)


_PRELUDE = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def attempt(action):
    try: return action()
    except BaseException as error: return type(error).__name__
"""
_READ_HOST = "print(os.path.exists('/etc/shadow'))"
_INET = "socket.socket(); print('had')"
_UNSHARE = "print('had' if libc.unshare(0x10000000) == 0 else 'refused')"
_SHARED_MEMORY = "print(len(open('/proc/sysvipc/shm').readlines()) - 1)"
_CAPABILITIES = "print([line for line in open('/proc/self/status') if line.startswith('CapEff')])"


@pytest.fixture
def shared_memory() -> Iterator[None]:
    """A System V segment of the host."""
    libc = ctypes.CDLL(None)
    segment = libc.shmget(0, 4096, 0o1600)
    yield
    libc.shmctl(segment, 0, None)


@only("rlimits")
def test_without_isolation_the_host_is_in_view(run_with: Run, shared_memory: None) -> None:
    """The counterpart of the tests below: what they find closed is open otherwise."""
    assert run_with(_READ_HOST).stdout == "True\n"
    assert run_with(_INET).stdout == "had\n"
    assert int(run_with(_SHARED_MEMORY).stdout) >= 1
    assert run_with(f"print(attempt(lambda: os.kill({os.getpid()}, 0)))").stdout == "None\n"
    assert run_with("print(os.memfd_create('x') > 0)").stdout == "True\n"


@namespaces_alone
def test_the_mount_namespace_alone_hides_the_files_of_the_host(run_with: Run) -> None:
    assert run_with(_READ_HOST).stdout == "False\n"
    assert "Read-only file system" in run_with("open(os.__file__ + 'x', 'w')").stderr


@namespaces_alone
def test_the_pid_namespace_alone_hides_other_processes(run_with: Run) -> None:
    execution = run_with("print(os.getpid(), len([p for p in os.listdir('/proc') if p.isdigit()]))")
    # In bubblewrap a first process, which hides its memory, waits for the script's.
    assert execution.stdout == ("1 1\n" if execution.backend == "forkserver" else "2 2\n")
    attempt = "print(attempt(lambda: open('/proc/1/mem', 'r+b')))"
    assert execution.backend == "forkserver" or run_with(attempt).stdout == "PermissionError\n"
    kill = f"print(attempt(lambda: os.kill({os.getpid()}, 0)))"
    assert run_with(kill).stdout == "ProcessLookupError\n"


@namespaces_alone
def test_the_net_namespace_alone_leaves_no_interface(run_with: Run) -> None:
    code = "print([line.split(':')[0].strip() for line in open('/proc/net/dev')][2:])"
    assert run_with(code).stdout == "['lo']\n"


@namespaces_alone
def test_the_ipc_namespace_alone_hides_shared_memory(run_with: Run, shared_memory: None) -> None:
    assert run_with(_SHARED_MEMORY).stdout == "0\n"


@namespaces_alone
def test_the_uts_namespace_alone_hides_the_name_of_the_host(run_with: Run) -> None:
    assert run_with("print(socket.gethostname())").stdout == "sandbox\n"


@namespaces_alone
def test_the_user_namespace_alone_makes_the_job_nobody(run_with: Run) -> None:
    assert run_with("print(os.getuid(), os.getgid())").stdout == "1000 1000\n"
    outside = int(run_with("print(open('/proc/self/uid_map').read())").stdout.split()[1])
    assert outside != 0


@namespaces_alone
def test_without_any_other_layer_no_capability_is_left(run_with: Run) -> None:
    assert "CapEff:\\t0000000000000000" in run_with(_CAPABILITIES).stdout
    assert run_with("print(libc.mount(b'x', b'/tmp', b'tmpfs', 0, None))").stdout == "-1\n"


@namespaces_alone
def test_the_quota_alone_bounds_the_disk(run_with: Run) -> None:
    code = """
def fill():
    for place in ('/job', '/tmp', '/dev/shm'):
        for i in range(9): open(f'{place}/{i}', 'wb').write(bytes(1 << 20))
print(attempt(fill), os.listdir('/dev/shm'))
"""
    assert run_with(code).stdout == "OSError []\n"


@only("namespaces")
def test_the_quota_alone_bounds_the_number_of_files(run_with: Run) -> None:
    code = "for i in range(999): open(f'{i}', 'w').close()"
    assert "No space left" in run_with(code, inodes=100).stderr


@only("namespaces", "rlimits")
def test_rlimits_bound_the_processes_of_a_user_namespace(run_with: Run) -> None:
    code = """
def fork():
    for i in range(20):
        if os.fork() == 0: os.read(0, 1); import time; time.sleep(20)
        print(i)
print(attempt(fork))
"""
    assert run_with(code).stdout.endswith("6\nBlockingIOError\n")


@only("rlimits")
def test_rlimits_alone_bound_files_descriptors_and_memory(run_with: Run) -> None:
    assert "File too large" in run_with("open('x', 'wb').write(bytes(2 << 20))").stderr
    assert "Too many open files" in run_with("f = [open('x', 'w') for _ in range(99)]").stderr
    assert run_with("bytearray(300 << 20)", data_mb=100).status == "memory"
    assert run_with("while True: pass", cpu_s=0.1).status == "cpu"


@pytest.fixture
def listener() -> Iterator[str]:
    """The name of an abstract socket of the host."""
    name = f"wmrl-layers-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as open_socket:
        open_socket.bind("\0" + name)
        open_socket.listen()
        yield name


@only("landlock")
def test_landlock_alone_refuses_files_tcp_signals_and_abstract_sockets(
    run_with: Run, listener: str
) -> None:
    assert "PermissionError" in run_with("open('/etc/shadow')").stderr
    assert "PermissionError" in run_with("open('/var/tmp/planted', 'w')").stderr
    connect = "s = socket.socket(); s.settimeout(1); s.connect(('127.0.0.1', 9))"
    assert "PermissionError" in run_with(connect).stderr
    if landlock.abi() >= 6:
        kill = f"print(attempt(lambda: os.kill({os.getpid()}, 0)))"
        assert run_with(kill).stdout == "PermissionError\n"
        call = f"socket.socket(socket.AF_UNIX).connect('\\0{listener}')"
        assert "PermissionError" in run_with(call).stderr


@only("seccomp")
def test_seccomp_alone_refuses_sockets_namespaces_and_hidden_memory(run_with: Run) -> None:
    assert "PermissionError" in run_with(_INET).stderr
    assert run_with(_UNSHARE).stdout == "refused\n"
    assert run_with("print(libc.ptrace(16, os.getppid(), 0, 0))").stdout == "-1\n"
    assert "PermissionError" in run_with("os.memfd_create('x')").stderr


@only()
def test_the_watchdog_alone_bounds_memory_time_and_output(run_with: Run) -> None:
    hold = "blocks = [bytearray(b'x' * (8 << 20)) for _ in range(60)]; import time; time.sleep(60)"
    assert run_with(hold, memory_mb=200).status == "memory"
    assert run_with("while True: pass", cpu_s=0.5).status == "cpu"
    assert run_with("import time; time.sleep(60)", wall_s=0.5).status == "timeout"
    assert run_with("while True: print('x' * 999)", output_mb=1).status == "output"


@only()
def test_without_any_layer_no_program_grants_privileges(run_with: Run) -> None:
    code = "print([line for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])"
    assert "NoNewPrivs:\\t1" in run_with(code).stdout


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
