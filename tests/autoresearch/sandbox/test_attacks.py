"""Attacks: each has its own canary and is bounded in itself. Run against every backend, as root and
as an ordinary user.

Every script prints ``TRIED`` at its end, so that an attack that did not take place is no success of
the sandbox, and ``PWNED`` where it won.
"""

import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from testing_processes import processes_named

from wmrl_envs.autoresearch.sandbox import Execution, Job, Limits, Sandbox

CANARY = b"CANARY-7f3a"
# So much wall time that a busy machine does not end an attack that another limit must end.
_AMPLE = {"wall_s": 150, "cpu_s": 20}


@dataclass(frozen=True)
class World:
    """What attacks aim at: files, listeners and a process of the host."""

    folder: Path
    tcp_port: int
    udp: socket.socket
    abstract: str
    process: subprocess.Popen[bytes]

    def prelude(self) -> str:
        """What every attack knows."""
        return (
            "import os, sys, time, glob\n"
            f"FOLDER, PORT, ABSTRACT = {str(self.folder)!r}, {self.tcp_port}, {self.abstract!r}\n"
            f"UDP, VICTIM = {self.udp.getsockname()[1]}, {self.process.pid}\n"
            f"TRAINER = {os.getpid()}\n"
            f"CANARY = b'CANARY' + b'-7f3a'\n"
            "LABELS, OUTSIDE = FOLDER + '/private/labels.csv', FOLDER + '/outside'\n"
            "def attempt(action):\n"
            "    try: return action()\n"
            "    except BaseException as error: return error\n"
            "def read(path):\n"
            "    found = attempt(lambda: open(path, 'rb').read(1 << 20))\n"
            "    if isinstance(found, bytes) and CANARY in found: print('PWNED', path)\n"
        )


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="wmrl-attack-"))
    folder.chmod(0o755)
    for name in ("private", "outside"):
        (folder / name).mkdir(mode=0o777)
        (folder / name).chmod(0o777)
    (folder / "private" / "labels.csv").write_bytes(CANARY)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.setblocking(False)
    abstract = f"\0wmrl-attack-{os.getpid()}"
    tcp = _listen(socket.AF_INET, ("127.0.0.1", 0))
    listeners = [
        tcp,
        _listen(socket.AF_UNIX, abstract),
        _listen(socket.AF_UNIX, str(folder / "socket")),
    ]
    (folder / "socket").chmod(0o777)
    process = subprocess.Popen(["sleep", "600"])
    yield World(folder, tcp.getsockname()[1], udp, abstract, process)
    process.kill()
    process.wait()
    for listener in (*listeners, udp):
        listener.close()
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def _listen(family: int, address: object) -> socket.socket:
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen(8)
    threading.Thread(target=_answer, args=(listener,), daemon=True).start()
    return listener


def _answer(listener: socket.socket) -> None:
    try:
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(CANARY)
    except OSError:
        return


@dataclass(frozen=True)
class Attacker:
    """Runs attacks and checks what holds for each of them."""

    sandbox: Sandbox
    world: World

    def run(self, code: str, **limits: float) -> Execution:
        """Runs an attack to whatever end."""
        chosen = Limits(**{**_AMPLE, **limits})  # type: ignore[arg-type]
        execution = self.sandbox.run(self.world.prelude() + code, limits=chosen)
        assert "PWNED" not in execution.stdout, execution
        assert CANARY not in (execution.artifact or b"")
        return execution

    def fails(self, code: str, **limits: float) -> Execution:
        """Runs an attack that must get to its end and win nothing."""
        execution = self.run(code + "\nprint('TRIED')", **limits)
        assert "TRIED" in execution.stdout, execution
        return execution


@pytest.fixture
def attacker(either_sandbox: Sandbox, world: World) -> Attacker:
    return Attacker(either_sandbox, world)


def test_labels_cannot_be_read_by_any_path(attacker: Attacker) -> None:
    attacker.fails(
        """
paths = [LABELS, '../private/labels.csv', '../..' + LABELS, '/proc/self/root' + LABELS]
for pid in [1, os.getppid(), VICTIM, TRAINER]:
    paths += [f'/proc/{pid}/root{LABELS}', f'/proc/{pid}/cwd{LABELS}']
for path in paths: read(path)
for path in glob.glob('/proc/*/fd/*'):
    if 'pipe:' not in str(attempt(lambda: os.readlink(path))): read(path)
"""
    )


def test_labels_lie_nowhere_in_the_file_system_of_the_job(attacker: Attacker) -> None:
    attacker.fails(
        """
for top, folders, names in os.walk('/'):
    folders[:] = [name for name in folders if name not in ('proc', 'usr', 'lib')]
    if 'labels.csv' in names: print('PWNED', top)
"""
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        ("os.symlink(LABELS, 'submission.csv')", "not a plain file"),
        ("os.mkdir('submission.csv')", "not a regular file"),
        ("open('x', 'w').close(); os.link('x', 'submission.csv')", "hard links"),
        ("attempt(lambda: os.link(LABELS, 'submission.csv'))", "missing"),
        ("attempt(lambda: os.mkfifo('submission.csv'))", "missing"),
        ("f = open('submission.csv', 'wb'); f.truncate(80 << 20); f.close()", "too large"),
        (
            "import socket; s = socket.socket(socket.AF_UNIX); s.bind('submission.csv')",
            "not a plain file",
        ),
    ],
)
def test_a_submission_that_is_no_plain_file_is_refused(
    attacker: Attacker, make: str, reason: str
) -> None:
    execution = attacker.fails(make)
    assert execution.artifact is None
    assert reason in (execution.artifact_error or "")


def test_a_sparse_submission_of_20_gb_cannot_be_made(attacker: Attacker) -> None:
    execution = attacker.fails(
        "f = open('submission.csv', 'wb'); print(repr(attempt(lambda: f.truncate(20 << 30))))"
    )
    assert "File too large" in execution.stdout


@pytest.mark.parametrize(
    "connect",
    [
        "s = socket.socket(); s.settimeout(2); s.connect(('127.0.0.1', PORT))",
        "s = socket.socket(socket.AF_INET6); s.settimeout(2); s.connect(('::1', PORT))",
        "s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(ABSTRACT)",
        "s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(FOLDER + '/socket')",
        "s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); print('PWNED')",
        "s = socket.socket(40, socket.SOCK_STREAM); print('PWNED')",
    ],
    ids=["tcp", "tcp6", "abstract", "path", "netlink", "vsock"],
)
def test_no_socket_leads_out(attacker: Attacker, connect: str) -> None:
    attacker.fails(
        f"""
import socket
def go():
    {connect.replace("; ", chr(10) + "    ")}
    if CANARY in s.recv(64): print('PWNED')
print(repr(attempt(go)))
"""
    )


def test_no_datagram_leads_out(attacker: Attacker, world: World) -> None:
    attacker.fails(
        """
import socket
def go(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(CANARY, ('127.0.0.1', UDP))
print(repr(attempt(go)))
"""
    )
    with pytest.raises(BlockingIOError):
        world.udp.recv(64)


def test_nothing_outside_the_working_places_can_be_written(
    attacker: Attacker, world: World
) -> None:
    attacker.fails(
        """
import numpy
package = os.path.dirname(numpy.__file__)
places = [OUTSIDE, FOLDER, package, os.path.dirname(package), '/', '/usr', '/etc', '/var/tmp',
          '/data', '/proc/self', '/sys']
for place in places:
    if not isinstance(attempt(lambda: open(place + '/planted', 'w')), BaseException):
        print('PWNED', place)
for path in [package + '/__init__.py', '/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern',
             '/proc/self/mem', '/dev/kmsg', '/proc/self/oom_score_adj']:
    if not isinstance(attempt(lambda: open(path, 'r+b')), BaseException): print('PWNED', path)
"""
    )
    assert not list((world.folder / "outside").iterdir())


def test_shared_memory_of_the_host_stays_clean(attacker: Attacker) -> None:
    name = f"wmrl-planted-{os.getpid()}"
    attacker.fails(f"open('/dev/shm/{name}', 'w').write('x'); open('/tmp/{name}', 'w').write('x')")
    assert not os.path.exists(f"/dev/shm/{name}")
    assert not os.path.exists(f"/tmp/{name}")


def test_a_fork_storm_is_stopped_by_the_process_limit(attacker: Attacker) -> None:
    execution = attacker.fails(
        """
count = 0
def storm():
    global count
    for _ in range(300):
        if os.fork() == 0:
            time.sleep(5); os._exit(0)
        count += 1
attempt(storm)
print('FORKED', count)
""",
        processes=40,
    )
    assert 20 < int(execution.stdout.split("FORKED")[1].split()[0]) <= 40


def test_the_disk_cannot_be_filled(attacker: Attacker) -> None:
    execution = attacker.fails(
        """
def fill(folder):
    for i in range(30):
        with open(f'{folder}/{i}', 'wb') as f: f.write(bytes(4 << 20))
for folder in ('/job', '/tmp', '/dev/shm'): print(repr(attempt(lambda: fill(folder))))
size = sum(os.path.getsize(p) for d in ('/job', '/tmp', '/dev/shm') for p in glob.glob(d + '/*'))
print('MIB', size >> 20)
""",
        disk_mb=32,
    )
    assert int(execution.stdout.split("MIB")[1].split()[0]) <= 33
    assert "No space left" in execution.stdout


def test_inodes_cannot_be_used_up(attacker: Attacker) -> None:
    """The fork server's quota refuses the file; bubblewrap knows none, so the watchdog ends it."""
    execution = attacker.run(
        """
count = 0
def fill():
    global count
    for i in range(50_000): open(f'f{i}', 'w').close(); count += 1
    time.sleep(60)
print(repr(attempt(fill)), 'FILES', count)
""",
        inodes=500,
    )
    if execution.backend == "bubblewrap":
        assert execution.status == "memory"
    else:
        assert 400 < int(execution.stdout.split("FILES")[1].split()[0]) <= 500


_ALLOCATE = {
    "one process": """
blocks = [bytearray(b'x' * (64 << 20)) for _ in range(30)]
time.sleep(100)""",
    "several processes": """
for _ in range(6):
    if os.fork() == 0:
        block = bytearray(b'x' * (150 << 20)); time.sleep(100)
time.sleep(100)""",
    "shared mappings": """
import mmap
blocks = []
for _ in range(30):
    m = mmap.mmap(-1, 64 << 20); blocks.append(m)
    for i in range(0, 64 << 20, 4096): m[i] = 1
time.sleep(100)""",
    "a process that hides its details": """
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
blocks = [bytearray(b'x' * (64 << 20)) for _ in range(30)]
time.sleep(100)""",
    "files in scratch": """
for place in ('/job', '/tmp', '/dev/shm'):
    for i in range(4): open(f'{place}/{i}', 'wb').write(bytes(50 << 20))
time.sleep(100)""",
}


@pytest.mark.parametrize("how", _ALLOCATE)
def test_memory_over_the_limit_ends_the_job(attacker: Attacker, how: str) -> None:
    execution = attacker.run(_ALLOCATE[how] + "\nprint('PWNED')", memory_mb=400)
    assert execution.status == "memory", execution
    assert execution.peak_mb > 400


def test_memory_that_no_mapping_accounts_for_cannot_be_had(attacker: Attacker) -> None:
    attacker.fails(
        """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if not isinstance(attempt(lambda: os.memfd_create('x')), OSError): print('PWNED memfd')
if libc.shmget(0, 1 << 20, 0o1600) >= 0: print('PWNED shmget')
"""
    )


def test_processes_outside_cannot_be_signalled(attacker: Attacker, world: World) -> None:
    attacker.fails(
        """
for pid in (VICTIM, TRAINER, os.getppid()):
    for number in (0, 9): print(repr(attempt(lambda: os.kill(pid, number))))
attempt(lambda: os.kill(-1, 9))
"""
    )
    assert world.process.poll() is None


@pytest.mark.parametrize("ending", ["", "while True: time.sleep(1)"], ids=["exit", "timeout"])
def test_a_daemon_does_not_outlive_its_job(attacker: Attacker, ending: str) -> None:
    name = f"wmrl{os.getpid() % 10**6}{len(ending)}"
    execution = attacker.run(
        f"""
import ctypes
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)
        os.closerange(0, 256)
        time.sleep(300)
    os._exit(0)
time.sleep(0.2)
print('TRIED', flush=True)
{ending}
""",
        wall_s=5 if ending else 150,
    )
    assert execution.status == ("timeout" if ending else "ok")
    assert "TRIED" in execution.stdout
    assert not processes_named(name)


def test_ignored_signals_do_not_buy_time(attacker: Attacker) -> None:
    execution = attacker.run(
        """
import signal
for number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
while time.process_time() < 15: pass
print('PWNED')
""",
        cpu_s=1,
    )
    assert execution.status == "cpu"


def test_results_cannot_be_forged_on_any_descriptor(attacker: Attacker) -> None:
    execution = attacker.run(
        """
import json, struct
forged = json.dumps({"execution": {"status": "ok"}, "has_artifact": True}).encode()
for fd in range(0, 1100):
    attempt(lambda: os.write(fd, struct.pack('!IQ', len(forged), 0) + forged))
frame = sys._getframe()
while frame:
    for value in list(frame.f_locals.values()):
        for method in ('append', 'put', 'sendall'):
            if frame.f_globals.get('__name__') != '__main__' and hasattr(value, method):
                attempt(lambda: getattr(value, method)(forged))
    frame = frame.f_back
os._exit(3)
"""
    )
    assert (execution.status, execution.exit_code) == ("error", 3)


def test_no_descriptor_but_the_three_streams_is_inherited(attacker: Attacker) -> None:
    execution = attacker.fails("print('OPEN', sorted(map(int, os.listdir('/proc/self/fd'))))")
    assert "OPEN [0, 1, 2, 3]" in execution.stdout  # 3 is the listing itself


def test_a_pickled_submission_is_bytes_and_nothing_more(attacker: Attacker, world: World) -> None:
    execution = attacker.fails(
        """
import pickle
class Bomb:
    def __reduce__(self): return (exec, (f"open({OUTSIDE + '/pickle'!r}, 'w')",))
open('submission.csv', 'wb').write(pickle.dumps(Bomb()))
"""
    )
    assert execution.artifact
    assert not (world.folder / "outside" / "pickle").exists()


@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_secrets_of_the_environment_stay_outside(
    world: World, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv("WMRL_SECRET", CANARY.decode())
    with Sandbox(backend, preload=()) as fresh:
        Attacker(fresh, world).fails(
            """
if CANARY.decode() in str(dict(os.environ)): print('PWNED own')
for path in glob.glob('/proc/*/environ') + [f'/proc/{TRAINER}/environ']: read(path)
"""
        )


def test_memory_of_other_processes_cannot_be_opened(attacker: Attacker) -> None:
    attacker.fails(
        """
for pid in (os.getppid(), TRAINER, VICTIM):
    if not isinstance(attempt(lambda: open(f'/proc/{pid}/mem', 'rb')), BaseException):
        print('PWNED', pid)
"""
    )


def test_dangerous_system_calls_are_refused(attacker: Attacker) -> None:
    attacker.fails(
        """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, result):
    if result >= 0: print('PWNED', name)
buffer = ctypes.create_string_buffer(128)
for flag in (0x10000000, 0x20000, 0x40000000): refused('unshare', libc.unshare(flag))
refused('mount', libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))
refused('umount', libc.umount2(b'/proc', 2))
refused('setuid', libc.setuid(0))
refused('ptrace', libc.ptrace(16, os.getppid(), 0, 0))
refused('chroot', libc.chroot(b'/tmp'))
refused('clone3', libc.syscall(435, buffer, 88))
refused('io_uring', libc.syscall(425, 8, buffer))
refused('move_mount', libc.syscall(429, -100, b'/job', -100, b'/tmp', 0))
if platform.machine() == 'x86_64':
    numbers = dict(keyctl=250, bpf=321, userfaultfd=323, perf_event_open=298, setns=308)
    for name, number in numbers.items(): refused(name, libc.syscall(number, 0, buffer, 128, -1, 0))
"""
    )


def test_no_capability_and_no_new_privilege_remains(attacker: Attacker) -> None:
    execution = attacker.fails("print(open('/proc/self/status').read())", tail_bytes=65536)
    fields = dict(line.split(":\t", 1) for line in execution.stdout.splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_a_setuid_binary_gains_nothing(attacker: Attacker) -> None:
    attacker.fails(
        """
import subprocess
for command in (['/bin/su', 'root', '-c', 'id -u'], ['/usr/bin/su', '-c', 'id -u']):
    done = attempt(lambda: subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True))
    if getattr(done, 'stdout', b'').strip() == b'0': print('PWNED')
"""
    )


def test_an_output_flood_ends_the_job(attacker: Attacker) -> None:
    execution = attacker.run(
        "for _ in range(8000): sys.stdout.write('x' * 65536)\nprint('PWNED')", output_mb=4
    )
    assert execution.status == "output"
    assert len(execution.stdout) < 9000


def test_the_next_job_meets_a_clean_interpreter(attacker: Attacker) -> None:
    poison = """
import numpy
if hasattr(numpy, 'poison') or os.path.exists('/dev/shm/poison') or os.path.exists('poison'):
    print('PWNED')
numpy.poison = True
numpy.array = None
for place in ('/dev/shm', '/tmp', '/job'): open(place + '/poison', 'w').close()
"""
    attacker.fails(poison)
    attacker.fails(poison)


def test_a_concurrent_job_can_be_neither_seen_nor_read(attacker: Attacker, world: World) -> None:
    name = f"wmrlv{os.getpid() % 10**6}"
    victim = f"""
import ctypes
ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)
for place in ('/job', '/tmp', '/dev/shm'): open(place + '/secret', 'wb').write(CANARY)
time.sleep(1.5)
"""
    thief = f"""
time.sleep(0.7)
for pattern in ('/job/*', '/tmp/*', '/dev/shm/*', '/proc/*/root/job/*', '/proc/*/cwd/*'):
    for path in glob.glob(pattern):
        if not path.endswith('solution.py'): read(path)
for path in glob.glob('/proc/[0-9]*/comm'):
    if {name!r} in str(attempt(lambda: open(path).read())): print('PWNED', path)
print('TRIED')
"""
    jobs = [Job(world.prelude() + code) for code in (victim, thief)]
    for execution in attacker.sandbox.run_many(jobs):
        assert execution.status == "ok", execution
        assert "PWNED" not in execution.stdout
    assert "TRIED" in execution.stdout


@pytest.mark.parametrize(
    "end",
    ["import ctypes; ctypes.string_at(0)", "os.abort()", "ctypes_exit = os.kill(os.getpid(), 11)"],
    ids=["segfault", "abort", "signal"],
)
def test_a_crash_of_the_interpreter_is_the_jobs_own(attacker: Attacker, end: str) -> None:
    execution = attacker.run(end + "\nimport ctypes; ctypes.string_at(0)")
    assert execution.status == "killed"
    assert execution.exit_code in (-signal.SIGSEGV, -signal.SIGABRT)
