"""Ways to run a script: each starts once, then runs batches with a number of workers."""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from wmrl_envs.autoresearch.sandbox import Job, Limits, Sandbox
from wmrl_envs.autoresearch.sandbox.base import JobRunner
from wmrl_envs.autoresearch.sandbox.paths import server_environment, server_folder
from wmrl_envs.benchmarks.throughput import sandbox_peer
from wmrl_envs.benchmarks.throughput.process_cpu import children
from wmrl_envs.benchmarks.throughput.sandbox_jobs import ARTIFACT, Workload

__all__ = [
    "BARE_FORK", "BUBBLEWRAP", "COLD", "FLOOR", "FULL", "RAY", "STANDARD", "Contender", "Setting",
    "reason_against", "starting",
]  # fmt: skip

COLD = "cold python"
BUBBLEWRAP = "cold bubblewrap"
STANDARD = "multiprocessing forkserver"
BARE_FORK = "bare fork server"
FLOOR = "full isolation, nothing imported"
FULL = "full isolation"
RAY = "full isolation on Ray"

_LIMITS = Limits(wall_s=300.0, cpu_s=300.0)
_MAX_WORKERS = 2


class Setting:
    """What all contenders share: the data, the environment, which holds one BLAS thread.

    Args:
        data: Folder of ``train.csv`` and ``test.csv``.
        environment: The environment of this process, of which little is passed on.
    """

    def __init__(self, data: Path, environment: Mapping[str, str]) -> None:
        self.data = data
        self.environment = server_environment(environment)

    @contextmanager
    def directory(self, code: str) -> Iterator[Path]:
        """A folder with the data and the script."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(self.data, folder, dirs_exist_ok=True)
            Path(folder, "solution.py").write_text(code)
            yield Path(folder)


class Contender(ABC):
    """A way to run scripts.

    Attributes:
        roots: Its lasting processes.
    """

    roots: set[int] = set()  # noqa: RUF012 (assigned anew, never changed)

    def run(self, code: str, jobs: int, workers: int) -> list[bytes]:
        """Runs a script ``jobs`` times, ``workers`` at once; returns what it handed in."""
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(self._run_one, [code] * jobs))

    @abstractmethod
    def _run_one(self, code: str) -> bytes: ...

    @abstractmethod
    def close(self) -> None:
        """Ends its processes."""


class _Cold(Contender):
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def _run_one(self, code: str) -> bytes:
        with self._setting.directory(code) as folder:
            command = [sys.executable, "-s", "solution.py"]
            subprocess.run(command, cwd=folder, env=self._setting.environment, check=True)
            return (folder / ARTIFACT).read_bytes()

    def close(self) -> None:
        pass


class _Peer(Contender):
    """A warm process without isolation; see ``sandbox_peer``."""

    def __init__(self, setting: Setting, kind: str, workload: Workload) -> None:
        self._setting = setting
        self._process = subprocess.Popen(
            [sys.executable, "-s", str(sandbox_peer.__file__), kind, server_folder(),
             *workload.preload],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=setting.environment, text=True,
        )  # fmt: skip
        self._answer()
        self.roots = {self._process.pid}

    def run(self, code: str, jobs: int, workers: int) -> list[bytes]:
        with ExitStack() as stack:
            folders = [stack.enter_context(self._setting.directory(code)) for _ in range(jobs)]
            for folder in folders[:workers]:
                self._ask(folder)
            for folder in folders[workers:]:
                self._answer()
                self._ask(folder)
            for _ in folders[:workers]:
                self._answer()
            return [(folder / ARTIFACT).read_bytes() for folder in folders]

    def _run_one(self, code: str) -> bytes:
        return self.run(code, 1, 1)[0]

    def _ask(self, folder: Path) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{folder}\n")
        self._process.stdin.flush()

    def _answer(self) -> None:
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"{self._process.args!r} ended")

    def close(self) -> None:
        self._process.communicate()


class _Sandboxed(Contender):
    def __init__(self, setting: Setting, sandbox: JobRunner) -> None:
        self._setting = setting
        self._sandbox = sandbox
        before = children()
        sandbox.report()
        self.roots = children() - before

    def run(self, code: str, jobs: int, workers: int) -> list[bytes]:
        self._sandbox.workers = workers
        data = {str(self._setting.data): "/data"}
        executions = list(self._sandbox.run_many([Job(code, ro_data=data)] * jobs))
        for execution in executions:
            if execution.artifact is None:
                raise RuntimeError(f"the script failed: {execution.stderr[-2000:]}")
        return [execution.artifact or b"" for execution in executions]

    def _run_one(self, code: str) -> bytes:
        return self.run(code, 1, 1)[0]

    def close(self) -> None:
        self._sandbox.close()


class _OnRay(_Sandboxed):
    def __init__(self, setting: Setting, workload: Workload) -> None:
        import ray

        from wmrl_envs.autoresearch.sandbox.ray import RaySandbox

        before = children()
        ray.init(
            num_cpus=_MAX_WORKERS, include_dashboard=False, log_to_driver=False,
            configure_logging=False, _node_ip_address="127.0.0.1",
        )  # fmt: skip
        arguments = {"preload": workload.preload}
        super().__init__(setting, RaySandbox(_MAX_WORKERS, limits=_LIMITS, sandbox=arguments))
        self.roots = children() - before

    def close(self) -> None:
        import ray

        super().close()
        ray.shutdown()


@contextmanager
def starting(name: str, setting: Setting, workload: Workload) -> Iterator[Contender]:
    """Starts a contender that has imported what the workload needs; ends it afterwards.

    Raises:
        SandboxUnavailable: The machine lacks a layer of isolation.
    """
    contender = _start(name, setting, workload)
    try:
        yield contender
    finally:
        contender.close()


def _start(name: str, setting: Setting, workload: Workload) -> Contender:
    if name == COLD:
        return _Cold(setting)
    if name in (STANDARD, BARE_FORK):
        return _Peer(setting, "fork" if name == BARE_FORK else "forkserver", workload)
    if name == RAY:
        return _OnRay(setting, workload)
    backend = "bubblewrap" if name == BUBBLEWRAP else "forkserver"
    preload = () if name == FLOOR else workload.preload
    return _Sandboxed(setting, Sandbox(backend, preload=preload, limits=_LIMITS))


def reason_against(name: str) -> str | None:
    """Why a contender cannot take part here; None if it can."""
    if name == BUBBLEWRAP and shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    if name == RAY and importlib.util.find_spec("ray") is None:
        return "ray is not installed (`pip install wmrl-envs[ray]`)"
    return None
