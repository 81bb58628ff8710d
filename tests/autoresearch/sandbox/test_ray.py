"""Sandboxes on a local Ray: the same interface, and what dies is replaced."""

import copy
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium as gym
import pytest
from testing_processes import descendants, processes_named

from wmrl_envs.autoresearch.sandbox import Job, Limits
from wmrl_envs.errors import SandboxError, SandboxUnavailable

ray = pytest.importorskip("ray")

from wmrl_envs.autoresearch.sandbox.ray import RaySandbox  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
_BARE = {"preload": ()}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 << 20,
        _node_ip_address="127.0.0.1",
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def shelf() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def sandbox(cluster: None, shelf: Path) -> Iterator[RaySandbox]:
    with RaySandbox(2, sandbox=_BARE, data_folder=str(shelf)) as opened:
        yield opened


def _until(condition: Callable[[], bool]) -> None:
    waiting = threading.Event()
    while not condition():  # bounded by the test's timeout
        waiting.wait(0.05)


def test_it_says_what_holds_on_every_machine(sandbox: RaySandbox) -> None:
    report = sandbox.report()
    assert (report.backend, report.level) == ("ray/forkserver", "namespaces")
    assert {"user", "net", "seccomp"} <= set(report.layers)


def test_a_script_runs_and_leaves_its_artifact(sandbox: RaySandbox) -> None:
    code = "import helper; print(6 * 7)\nopen('submission.csv', 'w').write(helper.TEXT)"
    execution = sandbox.run(code, files={"helper.py": b"TEXT = 'id,target'"})
    assert (execution.status, execution.stdout) == ("ok", "42\n")
    assert execution.artifact == b"id,target"
    assert execution.backend == "ray/forkserver"
    assert "seccomp" in execution.layers


def test_executions_come_in_the_order_of_their_jobs(sandbox: RaySandbox) -> None:
    jobs = [Job(f"import time; time.sleep({0.2 * (i % 2)}); print({i})") for i in range(6)]
    assert [int(execution.stdout) for execution in sandbox.run_many(jobs)] == list(range(6))


def test_limits_hold_far_away(sandbox: RaySandbox) -> None:
    assert sandbox.run("while True: pass", limits=Limits(wall_s=0.5)).status == "timeout"


def test_data_lies_once_on_a_machine_named_by_its_content(
    sandbox: RaySandbox, shelf: Path, tmp_path: Path
) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.csv").write_text("id\n1\n")
    code = "print(open('train.csv').read() == open('/data/train.csv').read() == 'id\\n1\\n')"
    jobs = [Job(code, ro_data={str(tmp_path / name): "/data"}) for name in ("one", "other") * 2]
    assert [execution.stdout for execution in sandbox.run_many(jobs)] == ["True\n"] * 4
    assert len(list(shelf.iterdir())) == 1
    (tmp_path / "one" / "train.csv").write_text("id\n2\n")
    assert sandbox.run(code, ro_data={str(tmp_path / "one"): "/data"}).stdout == "False\n"


def test_labels_never_leave_the_trainer(sandbox: RaySandbox, shelf: Path, tmp_path: Path) -> None:
    for part in ("public", "private"):
        (tmp_path / part).mkdir()
    (tmp_path / "public" / "train.csv").write_text("id\n3\n")
    (tmp_path / "private" / "answers.csv").write_text("CANARY-7f3a")
    job = Job(
        "import os; print(sorted(os.listdir('/data')), os.listdir('/data/public'))",
        ro_data={str(tmp_path): "/data"},
        hidden=(str(tmp_path / "private"),),
    )
    [execution] = sandbox.run_many([job])
    assert execution.stdout == "['public'] ['train.csv']\n", execution
    files = [path for path in shelf.rglob("*") if path.is_file()]
    assert files
    assert all(b"CANARY" not in path.read_bytes() for path in files)


def test_data_that_was_changed_on_a_machine_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.csv").write_text("id\n4\n")
    arguments = {"sandbox": _BARE, "data_folder": str(tmp_path / "shelf"), "num_cpus": 0}
    data = {str(tmp_path / "data"): "/data"}
    with RaySandbox(1, **arguments) as first:  # type: ignore[arg-type]
        assert first.run("pass", ro_data=data).status == "ok"
    [laid_out] = (tmp_path / "shelf").iterdir()
    (laid_out / "train.csv").write_text("id\n5\n")
    with RaySandbox(1, **arguments) as second:  # type: ignore[arg-type]
        with pytest.raises(SandboxError, match="was changed"):
            second.run("pass", ro_data=data)


def _sleepy(name: str) -> str:
    return f"import ctypes, time; ctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0); time.sleep(3)"


def _kill_the_actor_of(name: str, killed: list[int]) -> None:
    """Kills the actor whose job has this name: the ancestor that Ray started."""
    _until(lambda: bool(processes_named(name)))
    for actor in processes_named("ray::RayWorker."):
        if processes_named(name) & descendants(actor):
            os.kill(actor, signal.SIGKILL)
            killed.append(actor)


def test_a_job_whose_actor_was_killed_is_done_once_more_by_a_new_one(sandbox: RaySandbox) -> None:
    name = f"wmrlray{os.getpid() % 10**5}"
    killed: list[int] = []
    killer = threading.Thread(target=_kill_the_actor_of, args=(name, killed))
    killer.start()
    first, second = sandbox.run_many([Job(_sleepy(name) + "; print('done')"), Job("print(2)")])
    killer.join()
    assert (first.status, first.stdout, second.stdout) == ("ok", "done\n", "2\n")
    assert len(killed) == 1
    assert not processes_named(name)
    assert [e.stdout for e in sandbox.run_many([Job("print(1)")] * 4)] == ["1\n"] * 4


def test_a_job_that_kills_two_actors_is_a_fault_of_the_harness(sandbox: RaySandbox) -> None:
    name = f"wmrltwo{os.getpid() % 10**5}"

    killed: list[int] = []

    def kill_twice() -> None:
        for _ in range(2):
            _kill_the_actor_of(name, killed)
            _until(lambda: not processes_named(name))

    killer = threading.Thread(target=kill_twice)
    killer.start()
    results = list(sandbox.run_many([Job(_sleepy(name))], on_error="return"))
    killer.join()
    assert [type(result) for result in results] == [SandboxError]
    assert len(set(killed)) == 2
    assert sandbox.run("print(1)").stdout == "1\n"


def test_an_environment_executes_through_it(sandbox: RaySandbox) -> None:
    environment = gym.make("WMRL/AutoResearch-v0", tasks="concrete", sandbox=sandbox)
    environment.reset(seed=0)
    program = "import shutil; shutil.copy('sample_submission.csv', 'submission.csv')"
    _, reward, _, _, info = environment.step(program)
    assert info["grade_status"] == "valid", info
    assert float(reward) >= 0.5
    environment.close()
    assert sandbox.run("print(1)").stdout == "1\n"


def test_more_actors_than_the_cluster_can_hold_are_refused() -> None:
    with RaySandbox(3, sandbox=_BARE, start_timeout_s=15) as greedy:
        with pytest.raises(SandboxUnavailable, match=r"3 actors of 1\.0 CPUs .* has 2\.0 CPUs"):
            greedy.report()


def test_closing_ends_its_processes_and_is_final() -> None:
    closing = RaySandbox(1, sandbox=_BARE, num_cpus=0)
    server = closing.report().server_pid
    closing.close()
    closing.close()
    _until(lambda: not os.path.exists(f"/proc/{server}"))
    with pytest.raises(ValueError, match="the sandbox is closed"):
        closing.run("pass")


def test_a_copy_is_the_same_sandbox(sandbox: RaySandbox) -> None:
    assert copy.deepcopy(sandbox) is sandbox


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"workers": 0}, "workers"),
        ({"sandbox": {"workers": 2}}, "workers"),
        ({"sandbox": {"min_level": "none"}}, "min_level"),
    ],
)
def test_a_bad_argument_is_named_before_anything_starts(
    arguments: dict[str, object], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        RaySandbox(**arguments)  # type: ignore[arg-type]
