"""Keeps several jobs on their way at once, in one thread, and hands results out in order."""

import selectors
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from wmrl_envs.autoresearch.sandbox.client import Flight
from wmrl_envs.autoresearch.sandbox.jobs import Execution, Job
from wmrl_envs.errors import SandboxError

__all__ = ["Dispatcher", "Result"]

Result: TypeAlias = Execution | SandboxError
_LOOKAHEAD = 8


class Dispatcher:
    """Runs jobs through ``send`` and ``receive``.

    Args:
        send: Starts the job of an index.
        receive: Reads the outcome of a flight that has become readable, and closes it.
        workers: How many jobs are on their way at once.
    """

    def __init__(
        self,
        send: Callable[[int, Job], Flight],
        receive: Callable[[Flight], Execution],
        workers: int,
    ) -> None:
        self._send = send
        self._receive = receive
        self._workers = workers
        self._flights: dict[int, Flight] = {}
        self._done: dict[int, Result] = {}

    def run(self, jobs: Iterable[Job]) -> Iterator[Result]:
        """Yields a result for every job in order; a fault of the harness is one too.

        When the caller stops iterating, or an exception passes, the jobs on their way are ended.
        """
        waiting = enumerate(jobs)
        following = 0
        try:
            while self._launch(waiting, following) or self._flights or self._done:
                while following in self._done:
                    yield self._done.pop(following)
                    following += 1
                if self._flights:
                    self._collect()
        finally:
            for flight in self._flights.values():
                flight.close()

    def _launch(self, waiting: Iterator[tuple[int, Job]], following: int) -> bool:
        """Fills the free places; True if it launched anything.

        No job starts far ahead of the next result to hand out: finished ones wait in memory.
        """
        launched = False
        while len(self._flights) < self._workers:
            pending = len(self._flights) + len(self._done)
            if pending >= _LOOKAHEAD * self._workers:
                break
            item = next(waiting, None)
            if item is None:
                break
            launched = True
            self._launch_one(*item)
        return launched

    def _launch_one(self, index: int, job: Job) -> None:
        try:
            self._flights[index] = self._send(index, job)
        except SandboxError as error:
            self._done[index] = error

    def _collect(self) -> None:
        """Waits until a job has an answer or has gone without one for too long."""
        with selectors.DefaultSelector() as selector:
            for flight in self._flights.values():
                selector.register(flight.connection, selectors.EVENT_READ, flight)
            first = min(flight.deadline for flight in self._flights.values())
            ready = selector.select(max(0.0, first - time.monotonic()))
        landed = [key.data for key, _ in ready]
        for flight in landed or self._overdue():
            self._finish(flight, overdue=not landed)

    def _overdue(self) -> list[Flight]:
        now = time.monotonic()
        return [flight for flight in self._flights.values() if flight.deadline <= now]

    def _finish(self, flight: Flight, overdue: bool) -> None:
        del self._flights[flight.index]
        if overdue:
            flight.close()
            self._done[flight.index] = SandboxError(
                f"the job's supervisor did not answer within its wall_s={flight.limits.wall_s} "
                "and a grace period"
            )
            return
        try:
            self._done[flight.index] = self._receive(flight)
        except SandboxError as error:
            self._done[flight.index] = error
