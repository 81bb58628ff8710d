"""Sandboxes on a Ray cluster: one fork server an actor, as many actors as wanted."""

import os
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from wmrl_envs.autoresearch.sandbox import parcels, paths
from wmrl_envs.autoresearch.sandbox.base import JobRunner
from wmrl_envs.autoresearch.sandbox.dispatch import InOrder, Result
from wmrl_envs.autoresearch.sandbox.jobs import Execution, Job, Limits
from wmrl_envs.autoresearch.sandbox.levels import LEVELS
from wmrl_envs.autoresearch.sandbox.ray_worker import RayWorker
from wmrl_envs.autoresearch.sandbox.report import SandboxReport
from wmrl_envs.autoresearch.sandbox.sandbox import Sandbox
from wmrl_envs.errors import SandboxError, SandboxUnavailable

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayError
except ImportError as error:
    raise ImportError("RaySandbox needs Ray: pip install 'wmrl-envs[ray]'") from error

__all__ = ["RaySandbox"]

_GRACE_S = 180.0


class RaySandbox(JobRunner):
    """Runs jobs in sandboxes of a Ray cluster; takes the place of a :class:`Sandbox`.

    Each of ``workers`` actors holds one sandbox. Jobs go to the least busy one. Code and public
    data are all that leaves this process: data is packed, named by its content, put into Ray's
    object store once and laid out once a machine; answers and grades stay here. A job whose actor
    died, or whose harness failed, is done once more, by a new actor if need be; after that it is a
    :class:`SandboxError`, never a score.

    Connect to the cluster first (``ray.init``). Every machine needs this package and what
    ``preload`` names. Nothing is uploaded: no working directory, no environment variable. The
    actors start at the first use and end with :meth:`close` or with this process.

    Args:
        workers: How many actors, each with a sandbox of its own.
        limits: The limits of jobs that bring none.
        sandbox: The arguments of every actor's :class:`Sandbox`, ``workers`` and ``limits`` apart.
        num_cpus: The CPUs that Ray reserves for an actor.
        data_folder: Where a machine keeps public data; None for a folder of the user's in its
            temporary directory. Only the user may be able to write to it.
        start_timeout_s: Seconds that the actors may take to start.

    Raises:
        ImportError: Ray is not installed.
        ValueError: An argument is not of the form above.

    Example:
        .. code-block:: python

            ray.init(address="auto")
            with RaySandbox(workers=32) as sandbox:
                env = gym.make_vec("WMRL/AutoResearch-v0", num_envs=64, sandbox=sandbox)
    """

    def __init__(
        self,
        workers: int = 2,
        *,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        sandbox: Mapping[str, Any] | None = None,
        num_cpus: float = 1.0,
        data_folder: str | None = None,
        start_timeout_s: float = 300.0,
    ) -> None:
        arguments = {"limits": limits, **(sandbox or {})}
        if "workers" in arguments:
            raise ValueError("sandbox must not hold workers: each actor runs one job at a time")
        if not isinstance(workers, int) or workers < 1:
            raise ValueError(f"workers must be a positive int, got {workers!r}")
        # Starts nothing, and says here what would fail far away; python= may exist only there.
        Sandbox(**{name: value for name, value in arguments.items() if name != "python"})
        self.workers = workers
        self.limits = limits
        self._actors = _Actors(workers, num_cpus, (arguments, data_folder), start_timeout_s)
        self._store = _Store(paths.resolve_hidden(arguments.get("hidden", paths.DEFAULT_HIDDEN)))

    def report(self) -> SandboxReport:
        """What holds for every actor: the weakest level, the layers that all have."""
        return reduce(_weaker, self._actors.reports())

    def close(self) -> None:
        """Ends the actors and their jobs; a second call does nothing."""
        self._actors.close()

    def _results(self, jobs: Iterable[Job]) -> Generator[Result, None, None]:
        return InOrder(_Carrier(self._actors, self._store, self.limits), self.workers).run(jobs)


def _weaker(one: SandboxReport, other: SandboxReport) -> SandboxReport:
    order = list(LEVELS)
    return replace(
        one,
        level=max(one.level, other.level, key=order.index),
        layers=tuple(layer for layer in one.layers if layer in other.layers),
        refused=tuple(dict.fromkeys(one.refused + other.refused)),
        landlock_abi=min(one.landlock_abi, other.landlock_abi),
        preload_s=max(one.preload_s, other.preload_s),
    )


@dataclass(eq=False)
class _Seat:
    """An actor, and the wall seconds that its jobs may yet take."""

    actor: Any
    promised_s: float = 0.0


class _Actors:
    """Keeps ``count`` actors alive; thread-safe."""

    def __init__(
        self, count: int, num_cpus: float, arguments: tuple[Any, ...], timeout_s: float
    ) -> None:
        self._count = count
        self._num_cpus = num_cpus
        self._arguments = arguments
        self._timeout_s = timeout_s
        self._lock = threading.RLock()
        self._seats: list[_Seat] = []
        self._reports: list[SandboxReport] = []
        self._closed = False

    def reports(self) -> list[SandboxReport]:
        """What each actor said when it started; starts them if need be."""
        with self._lock:
            self.refuse_if_closed()
            if not self._seats:
                self._start()
            return list(self._reports)

    def take(self, wall_s: float) -> _Seat:
        """The least busy actor, for a job of so many seconds at most."""
        with self._lock:
            self.reports()
            seat = min(self._seats, key=lambda seat: seat.promised_s)
            seat.promised_s += wall_s
            return seat

    def give_back(self, seat: _Seat, wall_s: float) -> None:
        """Says that a job is over."""
        with self._lock:
            seat.promised_s -= wall_s

    def replace(self, seat: _Seat) -> None:
        """Puts a new actor in the place of one that died or does not answer."""
        with self._lock:
            if seat in self._seats and not self._closed:
                ray.kill(seat.actor)
                self._seats[self._seats.index(seat)] = self._seat()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for seat in self._seats if ray.is_initialized() else ():
                ray.kill(seat.actor)
            self._seats.clear()

    def refuse_if_closed(self) -> None:
        if self._closed:
            raise ValueError(
                "the sandbox is closed; a sandbox that environments share must stay open until "
                "they are closed"
            )

    def _seat(self) -> _Seat:
        actor = ray.remote(RayWorker).options(num_cpus=self._num_cpus, max_restarts=0)
        return _Seat(actor.remote(*self._arguments))

    def _start(self) -> None:
        if not ray.is_initialized():
            raise SandboxUnavailable("Ray is not connected: call ray.init() before the first job")
        seats = [self._seat() for _ in range(self._count)]
        try:
            self._reports = [_with_backend(one) for one in self._ask(seats)]
        except BaseException:
            for seat in seats:
                ray.kill(seat.actor)
            raise
        self._seats = seats

    def _ask(self, seats: list[_Seat]) -> list[Any]:
        try:
            asked = [seat.actor.report.remote() for seat in seats]
            return list(ray.get(asked, timeout=self._timeout_s))
        except GetTimeoutError as error:
            raise SandboxUnavailable(
                f"Ray did not start {self._count} actors of {self._num_cpus} CPUs within "
                f"{self._timeout_s:.0f} s; the cluster has {ray.cluster_resources().get('CPU', 0)} "
                "CPUs: ask for fewer workers or add machines"
            ) from error
        except RayError as error:
            raise SandboxError(f"an actor did not start: {error}") from error


def _with_backend(report: Any) -> SandboxReport:
    if isinstance(report, SandboxUnavailable | SandboxError):
        raise report
    found: SandboxReport = report
    return replace(found, backend=f"ray/{found.backend}")


class _Store:
    """Packed public data in Ray's object store, by digest; thread-safe."""

    def __init__(self, hidden: Sequence[str]) -> None:
        self._hidden = tuple(hidden)
        self._lock = threading.Lock()
        self._known: dict[tuple[Path, tuple[str, ...]], tuple[parcels.Stamp, str]] = {}
        self._references: dict[str, Any] = {}

    def parcel(self, folder: str, hidden: Sequence[str]) -> tuple[str, Any]:
        """Digest and reference of a folder's content, without what is hidden in it.

        Raises:
            ValueError: It is no folder, or holds what cannot be sent.
        """
        path = Path(folder).resolve()
        if not path.is_dir():
            raise ValueError(f"ro_data names {folder!r}, which is not a directory")
        left_out = self._left_out(path, hidden)
        found = parcels.stamp(path, left_out)
        key = (path, left_out)
        with self._lock:
            if key not in self._known or self._known[key][0] != found:
                self._known[key] = (found, self._put(path, left_out))
            digest = self._known[key][1]
            return digest, self._references[digest]

    def _left_out(self, path: Path, hidden: Sequence[str]) -> tuple[str, ...]:
        """To send a folder that is hidden elsewhere (in a cache, say) is an explicit wish."""
        secrets = {*self._hidden, *map(os.path.realpath, hidden)}
        return tuple(sorted(one for one in secrets if one.startswith(f"{path}/")))

    def _put(self, path: Path, left_out: Sequence[str]) -> str:
        content = parcels.pack(path, left_out)
        digest = parcels.digest_of(content)
        if digest not in self._references:
            self._references[digest] = ray.put(content)
        return digest


@dataclass
class _Trip:
    """A job on its way to an actor."""

    index: int
    job: Job
    wall_s: float
    data: dict[str, tuple[str, Any]]
    seat: _Seat
    deadline: float = field(default=0.0)
    is_second: bool = False


class _Carrier:
    """Carries the jobs of one batch."""

    def __init__(self, actors: _Actors, store: _Store, limits: Limits) -> None:
        self._actors = actors
        self._store = store
        self._limits = limits
        self._trips: dict[Any, _Trip] = {}

    def start(self, index: int, job: Job) -> None:
        limits = job.limits or self._limits
        self._actors.reports()
        folders = job.ro_data.items()
        data = {place: self._store.parcel(folder, job.hidden) for folder, place in folders}
        sent = replace(job, ro_data={}, limits=limits)
        self._send(_Trip(index, sent, limits.wall_s, data, self._actors.take(limits.wall_s)))

    def _send(self, trip: _Trip) -> None:
        trip.deadline = time.monotonic() + trip.seat.promised_s + _GRACE_S
        self._trips[trip.seat.actor.run.remote(trip.job, trip.data)] = trip

    def collect(self) -> list[tuple[int, Result]]:
        """Waits until a job has come back or has been away for too long; may return none."""
        first = min(trip.deadline for trip in self._trips.values())
        timeout = max(0.0, first - time.monotonic())
        ready, _ = ray.wait(list(self._trips), num_returns=1, timeout=timeout)
        landed = [self._land(reference) for reference in ready or self._overdue()]
        return [result for result in landed if result is not None]

    def _overdue(self) -> list[Any]:
        now = time.monotonic()
        return [reference for reference, trip in self._trips.items() if trip.deadline <= now]

    def _land(self, reference: Any) -> tuple[int, Result] | None:
        trip = self._trips.pop(reference)
        self._actors.give_back(trip.seat, trip.wall_s)
        try:
            result = ray.get(reference, timeout=0)
        except RayError as error:
            self._actors.replace(trip.seat)
            result = SandboxError(f"the actor of a job died or did not answer: {error}")
        self._actors.refuse_if_closed()
        if isinstance(result, SandboxUnavailable):
            raise result
        if isinstance(result, Execution) or trip.is_second:
            return trip.index, result
        self._send(replace(trip, seat=self._actors.take(trip.wall_s), is_second=True))
        return None

    def abandon(self) -> None:
        """Forgets the jobs on their way; each runs to its end or its limit."""
        for trip in self._trips.values():
            self._actors.give_back(trip.seat, trip.wall_s)
        self._trips.clear()
