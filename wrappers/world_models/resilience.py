"""Asking a server that may be down: retries with backoff, and a circuit breaker."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

from wmrl_envs.wrappers.world_models.http_json import RequestFailed

__all__ = ["Backoff", "CircuitBreaker", "CircuitOpen", "Stopped", "retried"]

T = TypeVar("T")
State = Literal["closed", "open", "half-open"]


class CircuitOpen(RequestFailed):
    """The request was not sent, because too many before it failed."""


class Stopped(Exception):
    """The caller has no use for the answer any more."""


@dataclass(frozen=True)
class Backoff:
    """When to try again.

    Attributes:
        attempts: The most tries of a request.
        first: Seconds before the second try; each further pause is twice as long.
        longest: The longest pause, in seconds, whatever the server asks for.
        jitter: Up to this share is taken off each pause, so that requests that failed together do
            not come back together.
        seed: Seed of the jitter.

    Raises:
        ValueError: A value is out of range.

    Example:
        >>> Backoff(first=1.0, jitter=0.0).pause(2, key="")
        4.0
    """

    attempts: int = 4
    first: float = 0.5
    longest: float = 30.0
    jitter: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the values."""
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts!r}")
        if not 0 <= self.first <= self.longest < float("inf"):
            raise ValueError(
                f"need 0 <= first <= longest < inf, got {self.first!r} and {self.longest!r}"
            )
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter must be in [0, 1], got {self.jitter!r}")

    def pause(self, attempt: int, key: str) -> float:
        """Seconds to wait after a failed try.

        Args:
            attempt: The try's number, from 0.
            key: Tells requests apart; equal keys wait equally long.
        """
        drawn = random.Random(f"{self.seed} {attempt} {key}").random()
        return min(self.first * 2.0**attempt, self.longest) * (1 - self.jitter * drawn)


class CircuitBreaker:
    """Stops asking a server that does not answer, and tries one request after a while.

    Closed, it lets everything pass. After ``failures`` requests in a row without an answer it
    opens: requests fail at once. After ``cooldown`` seconds it is half-open: one request passes
    as a probe, and its result closes or opens it again.

    Args:
        failures: Failed requests in a row that open it.
        cooldown: Seconds that it stays open.
        clock: Tells the time in seconds.

    Raises:
        ValueError: ``failures`` is below 1 or ``cooldown`` is negative.
    """

    def __init__(
        self, failures: int = 5, cooldown: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if failures < 1 or not cooldown >= 0:
            raise ValueError(
                f"need failures >= 1 and cooldown >= 0, got {failures!r}, {cooldown!r}"
            )
        self._failures, self._cooldown, self._clock = failures, cooldown, clock
        self._lock = threading.Lock()
        self._failed_in_row = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """Closed, open or half-open."""
        if self._opened_at is None:
            return "closed"
        return "half-open" if self._clock() - self._opened_at >= self._cooldown else "open"

    @contextmanager
    def request(self) -> Iterator[None]:
        """Surrounds one request; its :class:`RequestFailed` is counted and raised.

        A refusal counts as an answer, and "busy" as neither.

        Raises:
            CircuitOpen: The request must not be sent.
        """
        probe = self._enter()
        answered: bool | None = None
        try:
            yield
            answered = True
        except RequestFailed as error:
            answered = {"refused": True, "busy": None, "fault": False}[error.kind]
            raise
        finally:
            self._leave(probe, answered)

    def _enter(self) -> bool:
        """Whether the request that may be sent is a probe."""
        with self._lock:
            state = self.state
            if state == "open" or (state == "half-open" and self._probing):
                raise CircuitOpen(
                    f"not asked: {self._failed_in_row} requests in a row have failed, the next "
                    f"is tried {self._cooldown:g} s after the last of them"
                )
            self._probing = state == "half-open"
            return self._probing

    def _leave(self, probe: bool, answered: bool | None) -> None:
        with self._lock:
            self._probing &= not probe
            if answered:
                self._failed_in_row, self._opened_at = 0, None
            elif answered is False:
                self._failed_in_row += 1
                if self._opened_at is not None or self._failed_in_row >= self._failures:
                    self._opened_at = self._clock()


def retried(send: Callable[[], T], backoff: Backoff, key: str, wait: Callable[[float], bool]) -> T:
    """Sends a request until it is answered or refused.

    Args:
        send: Sends it once.
        backoff: How often, and the pauses between.
        key: Tells requests apart, for the jitter.
        wait: Waits some seconds; True if the answer is not wanted any more.

    Raises:
        RequestFailed: The last try failed, or it was refused.
        Stopped: ``wait`` said so.
    """
    for attempt in range(backoff.attempts - 1):
        try:
            return send()
        except RequestFailed as error:
            if error.kind == "refused":
                raise
            pause = max(backoff.pause(attempt, key), error.retry_after or 0.0)
        if wait(min(pause, backoff.longest)):
            raise Stopped
    return send()
