"""Scales and labels of charts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.benchmarks.report.svg import Axis, Plot, spread, ticks

_FINITE = st.floats(-1e6, 1e6)


@given(_FINITE, _FINITE)
def test_ticks_ascend_and_hold_the_interval(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    if high - low < 1e-6 * max(1.0, abs(low), abs(high)):
        high = low
    found = ticks(low, high)
    assert 2 <= len(found) <= 9 and found == sorted(set(found))
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert found[0] <= low + slack and found[-1] >= high - slack


@given(st.lists(st.floats(0, 300), max_size=12))
def test_labels_keep_their_gap_and_order(wanted: list[float]) -> None:
    placed = spread(sorted(wanted), 15.0, 0.0, 300.0)
    assert all(b - a >= 15.0 - 1e-6 for a, b in pairwise(placed))
    assert all(-1e-6 <= y <= 300.0 + 1e-6 for y in placed)


def test_values_at_the_ends_of_axes_lie_at_the_ends_of_the_plot() -> None:
    plot = Plot(Axis("x", 0, 10), Axis("y", 0, 1), "a < b")
    (left, bottom), (right, top) = plot.place(0, 0), plot.place(10, 1)
    assert left < right and top < bottom
    assert 'aria-label="a &lt; b"' in plot.svg()


def test_an_axis_of_steps_has_whole_numbers() -> None:
    assert Axis("steps", 0, 2, whole=True).ticks == [0, 1, 2]


@pytest.mark.parametrize("values", [[], [float("nan")], [3.0]])
def test_an_axis_of_next_to_nothing_still_has_a_length(values: list[float]) -> None:
    found = Axis.around("x", values).ticks
    assert found[-1] > found[0]
