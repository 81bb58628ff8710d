"""The adaptive share: up while the monitor is alarmed, down afterwards, within its bounds."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.estimators import AdaptiveShare, AgreementMonitor


class Evidence(AgreementMonitor):
    """A monitor that is told what to have seen."""

    def show(self, alarmed: bool, groups: int = 1) -> None:
        self.groups += groups
        self.alarmed = alarmed


def test_it_rises_step_by_step_to_its_bound_and_falls_back() -> None:
    monitor = Evidence()
    adaptive = AdaptiveShare(monitor, highest=0.5, steps=4, patience=2)
    shares = []
    for alarmed in [True] * 12 + [False] * 12:
        monitor.show(alarmed)
        adaptive.update()
        shares.append(round(adaptive.share(0.1), 3))
    up = [0.2, 0.2, 0.3, 0.3, 0.4, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    down = [0.4, 0.4, 0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    assert shares == up + down
    assert adaptive.history[:3] == [(1, 1), (3, 2), (5, 3)] and len(adaptive.history) == 8


def test_without_an_alarm_the_share_is_exactly_the_fraction() -> None:
    monitor = Evidence()
    adaptive = AdaptiveShare(monitor)
    for _ in range(50):
        monitor.show(alarmed=False)
        adaptive.update()
    assert adaptive.share(0.1) == 0.1 and adaptive.history == []


def test_without_new_evidence_nothing_moves() -> None:
    monitor = Evidence()
    adaptive = AdaptiveShare(monitor, patience=1)
    monitor.show(alarmed=True)
    for _ in range(5):
        adaptive.update()
    assert adaptive.level == 1


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=40),
    st.integers(1, 6),
    st.integers(1, 5),
    st.floats(0.01, 0.4),
)
def test_the_share_keeps_within_its_bounds_and_a_copy_goes_on_alike(
    seen: list[tuple[bool, int]], steps: int, patience: int, fraction: float
) -> None:
    monitor = Evidence()
    adaptive = AdaptiveShare(monitor, highest=0.4, steps=steps, patience=patience)
    for alarmed, groups in seen:
        copy = AdaptiveShare(monitor, highest=0.4, steps=steps, patience=patience)
        copy.load_state_dict(adaptive.state_dict())
        monitor.show(alarmed, groups)
        adaptive.update()
        copy.update()
        assert copy.history == adaptive.history and copy.level == adaptive.level
        assert fraction <= adaptive.share(fraction) <= 0.4 + 1e-12
    moves = np.diff([0, *(level for _, level in adaptive.history)])
    assert set(np.abs(moves)) <= {1}
    assert all(b - a >= patience for (a, _), (b, _) in pairwise(adaptive.history))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"monitor": None}, TypeError, "monitor must be an AgreementMonitor, got None"),
        ({"highest": 0}, ValueError, "highest must lie in .0, 1., got 0"),
        ({"steps": 0}, ValueError, "steps must be at least 1, got 0"),
        ({"patience": 0}, ValueError, "patience must be at least 1, got 0"),
    ],
)
def test_impossible_settings_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        AdaptiveShare(**{"monitor": AgreementMonitor(), **arguments})


@pytest.mark.parametrize("fraction", [0.0, 0.6])
def test_a_fraction_that_cannot_rise_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="without anchors there is no evidence"):
        AdaptiveShare(AgreementMonitor(), highest=0.5).check(fraction)
