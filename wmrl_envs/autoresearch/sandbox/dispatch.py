"""Keeps several jobs on their way at once, in one thread, and hands results out in order."""

import selectors
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Protocol, TypeAlias

from wmrl_envs.autoresearch.sandbox.client import Flight
from wmrl_envs.autoresearch.sandbox.jobs import Execution, Job
from wmrl_envs.errors import SandboxError

__all__ = ["FlightCarrier", "InOrder", "Result"]

Result: TypeAlias = Execution | SandboxError
_LOOKAHEAD = 8


class Carrier(Protocol):
    """Takes jobs somewhere and brings their results back, in whatever order."""

    def start(self, index: int, job: Job) -> None:
        """Sends the job of an index on its way, or raises :class:`SandboxError`."""

    def collect(self) -> Iterable[tuple[int, Result]]:
        """Waits until some jobs have come to an end, and returns them."""

    def abandon(self) -> None:
        """Lets go of the jobs that are still on their way."""


class InOrder:
    """Runs jobs through a carrier, ``workers`` at once.

    No job starts far ahead of the next result to hand out: finished ones wait in memory.
    """

    def __init__(self, carrier: Carrier, workers: int) -> None:
        self._carrier = carrier
        self._workers = workers
        self._done: dict[int, Result] = {}
        self._flying = 0

    def run(self, jobs: Iterable[Job]) -> Generator[Result, None, None]:
        """Yields a result for every job in order; a fault of the harness is one too.

        When the caller stops iterating, or an exception passes, the jobs on their way are let go.
        """
        waiting = enumerate(jobs)
        following = 0
        try:
            while self._launch(waiting) or self._flying or self._done:
                while following in self._done:
                    yield self._done.pop(following)
                    following += 1
                if self._flying:
                    self._collect()
        finally:
            self._carrier.abandon()

    def _launch(self, waiting: Iterator[tuple[int, Job]]) -> bool:
        """Fills the free places; True if it launched anything."""
        launched = False
        while self._has_room():
            item = next(waiting, None)
            if item is None:
                break
            launched = True
            self._launch_one(*item)
        return launched

    def _has_room(self) -> bool:
        pending = self._flying + len(self._done)
        return self._flying < self._workers and pending < _LOOKAHEAD * self._workers

    def _launch_one(self, index: int, job: Job) -> None:
        try:
            self._carrier.start(index, job)
            self._flying += 1
        except SandboxError as error:
            self._done[index] = error

    def _collect(self) -> None:
        for index, result in self._carrier.collect():
            self._flying -= 1
            self._done[index] = result


class FlightCarrier:
    """Carries jobs to the supervisors of this machine.

    Args:
        send: Starts the job of an index.
        receive: Reads the outcome of a flight that has become readable, and closes it.
    """

    def __init__(
        self, send: Callable[[int, Job], Flight], receive: Callable[[Flight], Execution]
    ) -> None:
        self._send = send
        self._receive = receive
        self._flights: dict[int, Flight] = {}

    def start(self, index: int, job: Job) -> None:
        """See :class:`Carrier`."""
        self._flights[index] = self._send(index, job)

    def collect(self) -> list[tuple[int, Result]]:
        """Waits until a job has an answer or has gone without one for too long."""
        with selectors.DefaultSelector() as selector:
            for flight in self._flights.values():
                selector.register(flight.connection, selectors.EVENT_READ, flight)
            first = min(flight.deadline for flight in self._flights.values())
            ready = selector.select(max(0.0, first - time.monotonic()))
        landed: list[Flight] = [key.data for key, _ in ready]
        if landed:
            return [(flight.index, self._land(flight)) for flight in landed]
        return [(flight.index, self._give_up(flight)) for flight in self._overdue()]

    def abandon(self) -> None:
        """Ends the jobs on their way."""
        for flight in self._flights.values():
            flight.close()
        self._flights.clear()

    def _land(self, flight: Flight) -> Result:
        del self._flights[flight.index]
        try:
            return self._receive(flight)
        except SandboxError as error:
            return error

    def _overdue(self) -> list[Flight]:
        now = time.monotonic()
        return [flight for flight in self._flights.values() if flight.deadline <= now]

    def _give_up(self, flight: Flight) -> SandboxError:
        del self._flights[flight.index]
        flight.close()
        return SandboxError(
            f"the job's supervisor did not answer within its wall_s={flight.limits.wall_s} "
            "and a grace period"
        )
