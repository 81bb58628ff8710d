"""Whatever dies, no process stays behind; what can go on does."""

import contextlib
import itertools
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import gymnasium as gym
import pytest
from testing_processes import descendants, processes_named

from wmrl_envs.autoresearch.sandbox import Job, Limits, Sandbox
from wmrl_envs.autoresearch.sandbox.forkserver import primitives as kernel
from wmrl_envs.errors import SandboxError

_TRAINER = """
import signal
from wmrl_envs.autoresearch.sandbox import Job, Limits, Sandbox
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
sandbox = Sandbox('{backend}', preload=())
code = '''{code}'''
print(sandbox.report().server_pid, flush=True)
jobs = [Job(code, limits=Limits(wall_s=300)) for _ in range(4)]
try:
    list(sandbox.run_many(jobs))
except KeyboardInterrupt:
    print('interrupted', flush=True)
"""


_NUMBERS = itertools.count()
_PR_SET_CHILD_SUBREAPER = 36


def _endless(name: str) -> str:
    """A job with children that try hard to stay."""
    return (
        "import ctypes, os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for _ in range(2):\n"
        "    if os.fork() == 0: os.setsid()\n"
        "ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\n"
        f"ctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)\n"
        "time.sleep(300)\n"
    )


def _until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    waiting = threading.Event()
    for _ in range(int(timeout_s / 0.02)):
        if condition():
            return
        waiting.wait(0.02)
    raise AssertionError("the awaited state did not come")


def _ended(pids: set[int], timeout_s: float = 20.0) -> bool:
    """True if every process ends in time."""
    descriptors = []
    for pid in pids:
        try:
            descriptors.append(os.pidfd_open(pid))
        except ProcessLookupError:
            continue
    for descriptor in descriptors:
        if not select.select([descriptor], [], [], timeout_s)[0]:
            return False
        os.close(descriptor)
    return True


@pytest.fixture(params=["forkserver", "bubblewrap"])
def trainer(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """A trainer with two running jobs, its server's pid, and the command name of its jobs."""
    name = f"wmrl{os.getpid() % 10**6}k{next(_NUMBERS)}"
    script = _TRAINER.format(code=_endless(name), backend=request.param)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    server = int(process.stdout.readline())
    _until(lambda: len(processes_named(name)) >= 6)
    yield process, server, name
    process.kill()
    process.wait()
    process.stdout.close()
    _until(lambda: not processes_named(name))
    assert _ended({server})


@pytest.mark.parametrize("victim", ["trainer", "server", "supervisors"])
def test_a_kill_at_any_place_leaves_no_process(
    trainer: tuple[subprocess.Popen[str], int, str], victim: str
) -> None:
    process, server, name = trainer
    jobs = processes_named(name)
    supervisors = descendants(server) - jobs
    others = descendants(process.pid) if victim == "trainer" else jobs
    victims = {"trainer": {process.pid}, "server": {server}, "supervisors": supervisors}[victim]
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):  # it ended with another of them
            os.kill(pid, signal.SIGKILL)
    assert _ended(jobs | others)


@pytest.fixture
def orphanage() -> Iterator[Callable[[], set[int]]]:
    """Whatever outlives its parent becomes a child of this process; tells which did so."""
    known = descendants(os.getpid())
    kernel.become_subreaper()

    def orphans() -> set[int]:
        found = descendants(os.getpid()) - known
        for pid in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return found

    yield orphans
    kernel.prctl(_PR_SET_CHILD_SUBREAPER, 0)


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "trials"), [("forkserver", 50), ("bubblewrap", 10)])
def test_kills_at_random_moments_leave_no_process_and_no_mount(
    orphanage: Callable[[], set[int]], backend: str, trials: int
) -> None:
    """The one kill of a trial is all that it takes: whoever is left must end by itself."""
    random = Random(0)
    mounts = _mounts()
    for number in range(trials):
        name = f"wmrl{os.getpid() % 10**6}r{number}"
        script = _TRAINER.format(code=_endless(name), backend=backend)
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout is not None
            process.stdout.readline()
            threading.Event().wait(random.uniform(0, 0.3))
            trusted = descendants(process.pid) - processes_named(name)
            victim = random.choice([process.pid, *sorted(trusted)])
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            process.kill()
        _until(lambda: not orphanage())
        assert not processes_named(name)
    assert _mounts() == mounts


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["bubblewrap", "supervisor", "server", "trainer"])
def test_a_kill_while_bubblewrap_starts_leaves_no_process(
    orphanage: Callable[[], set[int]], victim: str
) -> None:
    for number in range(4):
        name = f"wmrl{os.getpid() % 10**6}s{number}"
        script = _TRAINER.format(code=_endless(name), backend="bubblewrap")
        with subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            server = int(process.stdout.readline())
            started: set[int] = set()
            while not started:  # bounded by the test's timeout
                started = processes_named("bwrap") & descendants(server)
            supervisors = descendants(server) - processes_named("bwrap")
            victims = {
                "bubblewrap": started,
                "supervisor": supervisors,
                "server": {server},
                "trainer": {process.pid},
            }
            for pid in victims[victim]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if victim == "bubblewrap":  # the job is then a fault of the harness, which ends this
                process.wait(60)
            process.kill()
        _until(lambda: not orphanage())


def test_an_interrupt_ends_the_trainer_and_all_its_jobs(
    trainer: tuple[subprocess.Popen[str], int, str],
) -> None:
    process, _, name = trainer
    everyone = descendants(process.pid)
    assert processes_named(name) <= everyone
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert process.stdout is not None
    assert "interrupted" in process.stdout.read()
    assert _ended(everyone)


def test_a_trainer_that_forks_and_dies_still_takes_its_server_along() -> None:
    """The child holds a copy of the control socket, so its closing tells the server nothing."""
    script = """
import os, time
from wmrl_envs.autoresearch.sandbox import Sandbox
sandbox = Sandbox(preload=())
server = sandbox.report().server_pid
child = os.fork()
if child == 0:
    time.sleep(60); os._exit(0)
print(server, child, flush=True)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    server, child = map(int, process.stdout.readline().split())
    process.kill()
    process.wait()
    process.stdout.close()
    try:
        assert _ended({server})
    finally:
        os.kill(child, signal.SIGKILL)


def test_the_server_outlives_the_thread_that_started_it() -> None:
    with Sandbox(preload=()) as sandbox:
        thread = threading.Thread(target=sandbox.report)
        thread.start()
        thread.join()
        pid = sandbox.report().server_pid
        assert sandbox.run("print(1)").stdout == "1\n"
        assert sandbox.report().server_pid == pid


def test_a_server_that_died_is_started_again_by_the_next_job() -> None:
    with Sandbox(preload=()) as sandbox:
        first = sandbox.report().server_pid
        os.kill(first, signal.SIGKILL)
        assert _ended({first})
        assert sandbox.run("print(1)").stdout == "1\n"
        assert sandbox.report().server_pid != first


def test_jobs_in_flight_when_the_server_dies_are_faults_of_the_harness() -> None:
    name = f"wmrl{os.getpid() % 10**6}k{next(_NUMBERS)}"
    with Sandbox(preload=()) as sandbox:
        server = sandbox.report().server_pid

        def kill_once_running() -> None:
            _until(lambda: bool(processes_named(name)))
            os.kill(server, signal.SIGKILL)

        killer = threading.Thread(target=kill_once_running)
        killer.start()
        jobs = [Job(_endless(name)), Job(_endless(name)), Job("print(3)")]
        results = list(sandbox.run_many(jobs, on_error="return"))
        killer.join()
        assert [isinstance(result, SandboxError) for result in results] == [True, True, False]


def test_a_server_that_dies_time_and_again_is_given_up() -> None:
    with Sandbox(preload=()) as sandbox:
        for _ in range(2):
            pid = sandbox.report().server_pid
            os.kill(pid, signal.SIGKILL)
            assert _ended({pid})
        with pytest.raises(SandboxError, match="died again"):
            sandbox.run("pass")


def test_closing_is_final_and_may_be_repeated() -> None:
    sandbox = Sandbox(preload=())
    server = sandbox.report().server_pid
    sandbox.close()
    sandbox.close()
    assert _ended({server})
    with pytest.raises(ValueError, match="the sandbox is closed"):
        sandbox.run("pass")


def test_closing_while_jobs_run_is_no_fault_of_the_harness() -> None:
    """A made-up result would be an ungraded episode for no reason that the caller can see."""
    name = f"wmrl{os.getpid() % 10**6}k{next(_NUMBERS)}"
    sandbox = Sandbox(preload=())
    jobs = [Job(_endless(name)), Job("pass")]

    def close_once_running() -> None:
        _until(lambda: bool(processes_named(name)))
        sandbox.close()

    closer = threading.Thread(target=close_once_running)
    closer.start()
    with pytest.raises(ValueError, match="the sandbox is closed"):
        list(sandbox.run_many(jobs, on_error="return"))
    closer.join()


def test_an_environment_whose_shared_sandbox_was_closed_says_so() -> None:
    sandbox = Sandbox(preload=())
    environment = gym.make("WMRL/AutoResearch-v0", tasks="concrete", sandbox=sandbox)
    environment.reset(seed=0)
    sandbox.close()
    with pytest.raises(ValueError, match="must stay open until they are closed"):
        environment.step("print(1)")
    environment.close()


def test_a_sandbox_that_is_never_used_starts_nothing() -> None:
    before = descendants(os.getpid())
    Sandbox().close()
    assert descendants(os.getpid()) == before


def test_a_forgotten_sandbox_ends_its_server() -> None:
    sandbox = Sandbox(preload=())
    server = sandbox.report().server_pid
    del sandbox
    assert _ended({server})


def test_an_iteration_that_is_left_ends_its_jobs(sandbox: Sandbox) -> None:
    name = f"wmrl{os.getpid() % 10**6}k{next(_NUMBERS)}"
    jobs = [Job("print(1)"), *(Job(_endless(name), limits=Limits(wall_s=300)) for _ in range(2))]
    results = sandbox.run_many(jobs)
    assert next(results).stdout == "1\n"
    _until(lambda: bool(processes_named(name)))
    running = processes_named(name)
    results.close()  # type: ignore[attr-defined]
    assert _ended(running)


def test_a_module_that_cannot_be_preloaded_is_named() -> None:
    with pytest.raises(SandboxError, match="no_such_module"):
        Sandbox(preload=("no_such_module",)).run("pass")


def test_many_threads_may_run_jobs_at_once(sandbox: Sandbox) -> None:
    found: dict[int, str] = {}

    def run(number: int) -> None:
        found[number] = sandbox.run(f"print({number})").stdout

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"{number}\n" for number in range(8)}


def _lasting(server: int) -> set[int]:
    """The server's processes, those of the last jobs having gone: itself and a warm one."""
    _until(lambda: len(descendants(server)) <= 1)
    return {os.getpid(), server, *descendants(server)}


def _holdings(pids: set[int]) -> list[int]:
    """What the processes hold open."""
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in sorted(pids)]


def _own_memory(pids: set[int]) -> int:
    """Bytes of private memory of the processes together."""
    fields = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
    return sum(int(text.split("Private_Dirty:")[1].split()[0]) << 10 for text in fields)


def _run_in_a_row(sandbox: Sandbox, count: int) -> None:
    executions = sandbox.run_many(Job("open('submission.csv', 'w')") for _ in range(count))
    assert all(execution.status == "ok" for execution in executions)


@pytest.mark.parametrize(
    ("backend", "count"),
    [
        ("forkserver", 60),
        ("bubblewrap", 20),
        pytest.param("forkserver", 2000, marks=pytest.mark.slow),
    ],
)
def test_jobs_in_a_row_leak_neither_descriptors_nor_processes_nor_memory(
    request: pytest.FixtureRequest, backend: str, count: int
) -> None:
    name = "sandbox" if backend == "forkserver" else "cold_sandbox"
    sandbox: Sandbox = request.getfixturevalue(name)
    server = sandbox.report().server_pid
    _run_in_a_row(sandbox, 10)
    lasting = _lasting(server)
    held, memory = _holdings(lasting), _own_memory(lasting)
    _run_in_a_row(sandbox, count)
    assert _lasting(server) == lasting
    _until(lambda: _holdings(lasting) <= held)
    # Less than 4 KiB a job beyond what allocators keep anyway: one leaked page would show.
    assert _own_memory(lasting) - memory < (4 << 20) + 2048 * count


def test_jobs_end_with_the_warm_process_and_the_next_job_gets_another() -> None:
    with Sandbox(preload=(), workers=1) as sandbox:
        server = sandbox.report().server_pid
        [warm] = _lasting(server) - {os.getpid(), server}
        jobs = [Job("print('started')"), Job("import time; time.sleep(300)")]
        results = sandbox.run_many(jobs, on_error="return")
        next(results)
        os.kill(warm, signal.SIGKILL)
        assert isinstance(next(results), SandboxError)
        assert _ended({server})
        assert sandbox.run("print(1)").stdout == "1\n"
