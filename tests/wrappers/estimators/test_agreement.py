"""The agreement of predictions and measurements within groups, and the alarm."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.estimators import AgreementMonitor, RewardHackingWarning

PREDICTED = np.array([0.1, 0.4, 0.6, 0.9])
AGREE, DISAGREE = (PREDICTED, PREDICTED**2), (PREDICTED, 1 - PREDICTED)


def quiet(monitor: AgreementMonitor, *groups: Any) -> AgreementMonitor:
    """The monitor after these groups, its warnings ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RewardHackingWarning)
        monitor.update(groups)
    return monitor


def crossings(monitor: AgreementMonitor, *groups: Any) -> int:
    """How often it warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monitor.update(groups)
    return len(caught)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.floats(0.5, 50))
def test_it_is_the_exponentially_weighted_mean_over_groups(
    agree: list[bool], half_life: float
) -> None:
    monitor = AgreementMonitor(half_life=half_life, min_groups=1)
    quiet(monitor, *(AGREE if yes else DISAGREE for yes in agree))
    weights = 0.5 ** (np.arange(len(agree))[::-1] / half_life)
    expected = np.average([1 if yes else -1 for yes in agree], weights=weights)
    assert monitor.agreement == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "group",
    [
        (np.full(4, 0.5), PREDICTED),
        (PREDICTED, np.full(4, 0.5)),
        (np.array([0.3]), np.array([0.4])),
        (np.empty(0), np.empty(0)),
        (PREDICTED, np.array([0.1, np.nan, np.nan, np.nan])),
    ],
)
def test_a_group_with_nothing_to_rank_is_no_evidence(group: Any) -> None:
    monitor = quiet(AgreementMonitor(min_groups=1), AGREE, group)
    assert (monitor.groups, monitor.agreement) == (1, pytest.approx(1.0))


def test_unmeasured_members_are_left_out() -> None:
    measured = np.array([0.1, 0.2, 0.3, np.nan])
    assert quiet(AgreementMonitor(min_groups=1), (PREDICTED, measured)).agreement == 1.0


@pytest.mark.parametrize(("statistic", "expected"), [("spearman", 0.8), ("kendall", 2 / 3)])
def test_either_statistic_can_be_had(statistic: Any, expected: float) -> None:
    monitor = AgreementMonitor(min_groups=1, statistic=statistic)
    monitor.update([(PREDICTED, np.array([0.0, 0.2, 0.1, 0.9]))])
    assert monitor.agreement == pytest.approx(expected)


def test_nothing_is_said_before_there_is_enough_evidence() -> None:
    monitor = AgreementMonitor(min_groups=5)
    assert crossings(monitor, *[DISAGREE] * 4) == 0
    assert monitor.agreement is None and "agreement" not in monitor.diagnostics()
    assert crossings(monitor, DISAGREE) == 1
    assert monitor.diagnostics() == {
        "agreement": pytest.approx(-1.0),
        "agreement_groups": 5.0,
        "agreement_alarm": 1.0,
    }


def test_it_warns_once_a_crossing_and_not_again_before_it_recovered() -> None:
    monitor = AgreementMonitor(threshold=0.0, recovery=0.5, half_life=2.0, min_groups=1)
    assert crossings(monitor, *[AGREE] * 10) == 0
    assert crossings(monitor, *[DISAGREE] * 10) == 1
    while (monitor.agreement or 0) < 0.2:
        assert crossings(monitor, AGREE) == 0 and monitor.alarmed
    assert crossings(monitor, *[DISAGREE] * 4) == 0, "it had not recovered"
    assert crossings(monitor, *[AGREE] * 10) == 0 and not monitor.alarmed
    assert crossings(monitor, *[DISAGREE] * 10) == 1


def test_the_warning_says_how_bad_it_is() -> None:
    with pytest.warns(RewardHackingWarning, match=r"fallen to -1.00, below 0.2, after 8 groups"):
        AgreementMonitor().update([DISAGREE] * 8)


def test_a_saved_state_goes_on_bit_for_bit_without_a_second_warning() -> None:
    original = quiet(AgreementMonitor(half_life=3), *[AGREE] * 5, *[DISAGREE] * 9)
    restored = AgreementMonitor(half_life=3)
    restored.load_state_dict(original.state_dict())
    assert restored.alarmed and crossings(restored, DISAGREE) == 0
    original.update([DISAGREE])
    assert restored.state_dict() == original.state_dict()
    with pytest.raises(ValueError, match=r"state lacks \['alarmed'\]"):
        restored.load_state_dict({"groups": 1, "sum": 0.0, "weight": 0.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": 2}, "threshold must lie in .-1, 1., got 2"),
        ({"recovery": 0.1}, "recovery must lie between threshold=0.2 and 1, got 0.1"),
        ({"half_life": 0}, "half_life must be positive, got 0"),
        ({"min_groups": 0}, "min_groups must be at least 1, got 0"),
        ({"statistic": "pearson"}, "statistic must be one of .*, got 'pearson'"),
    ],
)
def test_impossible_settings_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AgreementMonitor(**arguments)
