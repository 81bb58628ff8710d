"""Retries and the circuit breaker, on a clock of their own."""

from collections.abc import Callable

import pytest

from wmrl_envs.wrappers.world_models.http_json import RequestFailed
from wmrl_envs.wrappers.world_models.resilience import (
    Backoff,
    CircuitBreaker,
    CircuitOpen,
    Stopped,
    retried,
)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def failing(*errors: Exception) -> Callable[[], str]:
    """Raises each error once, then answers."""
    left = list(errors)

    def send() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return send


def one_request(breaker: CircuitBreaker, *errors: Exception) -> str:
    with breaker.request():
        return failing(*errors)()


def test_pauses_double_up_to_the_longest_and_jitter_takes_off_up_to_its_share() -> None:
    plain = Backoff(first=1.0, longest=5.0, jitter=0.0)
    assert [plain.pause(n, "") for n in range(4)] == [1.0, 2.0, 4.0, 5.0]
    pauses = [Backoff(first=1.0, jitter=0.5).pause(0, str(key)) for key in range(200)]
    assert 0.5 <= min(pauses) < 0.55 and 0.95 < max(pauses) <= 1.0
    assert Backoff(first=1.0).pause(0, "a") == Backoff(first=1.0).pause(0, "a")
    assert Backoff(first=1.0).pause(0, "a") != Backoff(first=1.0, seed=1).pause(0, "a")


def test_a_request_is_tried_until_it_is_answered_with_the_pause_that_the_server_asks_for() -> None:
    waited: list[float] = []
    backoff = Backoff(attempts=3, first=1.0, longest=8.0, jitter=0.0)
    send = failing(RequestFailed("down"), RequestFailed("later", "busy", retry_after=60.0))
    assert retried(send, backoff, "", lambda s: bool(waited.append(s))) == "answer"
    assert waited == [1.0, 8.0]


def test_the_last_failure_and_a_refusal_are_raised() -> None:
    with pytest.raises(RequestFailed, match="second"):
        retried(
            failing(RequestFailed("first"), RequestFailed("second")),
            Backoff(attempts=2),
            "",
            lambda s: False,
        )
    with pytest.raises(RequestFailed, match="no"):
        retried(failing(RequestFailed("no", "refused")), Backoff(), "", lambda s: False)


def test_nothing_is_tried_again_when_the_answer_is_not_wanted_any_more() -> None:
    with pytest.raises(Stopped):
        retried(failing(RequestFailed("down")), Backoff(), "", lambda s: True)


def test_the_circuit_opens_after_failures_in_a_row_and_a_probe_closes_it_again() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=2, cooldown=10.0, clock=clock)
    for error in ([RequestFailed("down")], [], [RequestFailed("down")], [RequestFailed("down")]):
        assert breaker.state == "closed"
        try:
            one_request(breaker, *error)
        except RequestFailed:
            pass
    assert breaker.state == "open"
    with pytest.raises(CircuitOpen, match="2 requests in a row have failed"):
        one_request(breaker)
    clock.now = 10.0
    assert breaker.state == "half-open"
    assert one_request(breaker) == "answer" and breaker.state == "closed"


def test_a_probe_that_fails_opens_the_circuit_for_another_while() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=1, cooldown=10.0, clock=clock)
    with pytest.raises(RequestFailed):
        one_request(breaker, RequestFailed("down"))
    clock.now = 10.0
    with pytest.raises(RequestFailed, match="still"):
        one_request(breaker, RequestFailed("still down"))
    clock.now = 19.0
    assert breaker.state == "open"


def test_only_one_request_at_a_time_probes() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=1, cooldown=0.0, clock=clock)
    with pytest.raises(RequestFailed):
        one_request(breaker, RequestFailed("down"))
    with breaker.request(), pytest.raises(CircuitOpen):
        one_request(breaker)
    assert breaker.state == "closed"


def test_a_refusal_is_an_answer_and_a_busy_server_is_none_of_both() -> None:
    breaker = CircuitBreaker(failures=1)
    for kind in ("refused", "busy"):
        with pytest.raises(RequestFailed):
            one_request(breaker, RequestFailed("no", kind))  # type: ignore[arg-type]
        assert breaker.state == "closed"


@pytest.mark.parametrize(
    "settings", [{"attempts": 0}, {"first": -1.0}, {"first": 9.0, "longest": 1.0}, {"jitter": 2}]
)
def test_bad_backoffs_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="got"):
        Backoff(**settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="failures >= 1"):
        CircuitBreaker(failures=0)
