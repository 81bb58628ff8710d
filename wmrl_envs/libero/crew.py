"""Processes that hold simulators, each serving the seats of some episodes."""

import contextlib
import multiprocessing as mp
import signal
import traceback
from collections.abc import Iterable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from wmrl_envs.errors import WMRLError
from wmrl_envs.libero.seats import Seats

__all__ = ["Crew", "WorkerDied"]

_GRACE_SECONDS = 5.0


class WorkerDied(WMRLError, RuntimeError):
    """A simulator's process ended by itself; the message gives its exit code."""


class Crew:
    """Spreads seats over worker processes; seat i is served by worker i modulo their number.

    Args:
        arguments: The arguments of :class:`~wmrl_envs.libero.env.LiberoEnv`.
        workers: The number of processes, started with "spawn"; 0 simulates in this one.
    """

    def __init__(self, arguments: Mapping[str, Any], workers: int) -> None:
        self._local = Seats(arguments) if workers == 0 else None
        self._workers = [_Worker(arguments) for _ in range(workers)]

    def call(self, name: str, work: Mapping[int, Any], *settings: Any) -> dict[int, Any]:
        """Calls a method of :class:`~wmrl_envs.libero.seats.Seats` for some seats.

        Args:
            name: The method.
            work: What each seat's part of the work is, by seat.
            *settings: Arguments that come before the work.

        Returns:
            The answers, by seat.

        Raises:
            WorkerDied: A process ended.
        """
        if self._local is not None:
            return dict(getattr(self._local, name)(*settings, work))
        shares: list[dict[int, Any]] = [{} for _ in self._workers]
        for seat, part in work.items():
            shares[seat % len(shares)][seat] = part
        busy = [(w, share) for w, share in zip(self._workers, shares, strict=True) if share]
        for worker, share in busy:
            worker.send((name, (*settings, share)))
        answers = [worker.receive() for worker, _ in busy]  # all of them, before any is raised
        return _merged(answers)

    def close(self) -> None:
        """Ends the processes; may be called twice."""
        if self._local is not None:
            self._local.close()
        for worker in self._workers:
            worker.close()


def _merged(answers: Sequence[dict[int, Any] | BaseException]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        found |= answer
    return found


class _Worker:
    """One process, seen from here."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        context = mp.get_context("spawn")  # a fork of a process that has rendered hangs
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, dict(arguments)), daemon=True)
        self._process.start()
        theirs.close()

    def send(self, message: Any) -> None:
        try:
            self._pipe.send(message)
        except OSError:
            raise self._death() from None

    def receive(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            return self._death()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._pipe.send(None)
        self._process.join(_GRACE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()

    def _death(self) -> WorkerDied:
        self._process.join(_GRACE_SECONDS)
        return WorkerDied(
            f"a simulator's process ended with exit code {self._process.exitcode}; a negative one "
            "is a signal, -9 often a lack of memory (about 1 GB for each task's simulator)"
        )


def _serve(pipe: Connection, arguments: dict[str, Any]) -> None:
    """The life of a worker: answers until the pipe closes or None comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    seats = Seats(arguments)
    with contextlib.suppress(EOFError, OSError):
        for name, parts in _messages(pipe):
            pipe.send(_answer(seats, name, parts))
    seats.close()


def _messages(pipe: Connection) -> Iterable[tuple[str, tuple[Any, ...]]]:
    while (message := pipe.recv()) is not None:
        yield message


def _answer(seats: Seats, name: str, parts: tuple[Any, ...]) -> Any:
    try:
        return getattr(seats, name)(*parts)
    except Exception as error:
        error.add_note(f"in a simulator's process:\n{traceback.format_exc()}")
        return error
