"""From decoded values to LIBERO's actions, against values made by hand."""

from typing import Any

import numpy as np
import pytest
from testing_minivla import STATISTICS

from wmrl_envs.agents.policies.vla.pretrained.statistics import (
    ActionStatistics,
    chosen_statistics,
    dataset_actions,
    libero_actions,
)

pytestmark = pytest.mark.model


def test_quantiles_stretch_what_the_mask_says() -> None:
    _, statistics = chosen_statistics(STATISTICS, None)
    values = [[-1, 0, 1, 0.5, -0.5, 0, 0.25]]
    expected = [[-0.5, 0, 0.5, 0.05, -0.1, 0, 0.25]]
    assert statistics.unnormalized(values) == pytest.approx(np.array(expected))


def test_without_a_mask_every_value_is_stretched() -> None:
    statistics = ActionStatistics.from_dict({"q01": [0, 0], "q99": [2, 4]})
    assert statistics.unnormalized([0.0, 0.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("gripper", "expected"), [(1.0, -1.0), (0.9961, -1.0), (0.0, 1.0), (0.498, 1.0), (0.5, 0.0)]
)
def test_an_open_gripper_is_minus_one_and_a_closed_one_is_one(
    gripper: float, expected: float
) -> None:
    action = libero_actions([[0.1, gripper]])
    assert action.dtype == np.float32
    assert action[0].tolist() == [pytest.approx(0.1), expected]


def test_actions_find_their_way_back() -> None:
    _, statistics = chosen_statistics(STATISTICS, None)
    actions = np.array([[-0.5, 0.5, 0.1, 0.05, -0.2, 0.3, -1.0], [0, 0, 0, 0, 0, 0, 1.0]])
    values = statistics.normalized(dataset_actions(actions))
    assert values[0] == pytest.approx([-1, 0.5, -0.6, 0.5, -1, 1, 1])
    assert values[1, 6] == 0
    assert libero_actions(statistics.unnormalized(values)) == pytest.approx(actions)


def test_a_value_that_never_varied_stays_finite() -> None:
    statistics = ActionStatistics.from_dict({"q01": [2.0], "q99": [2.0]})
    assert statistics.normalized([2.0]).tolist() == [-1.0]
    assert statistics.unnormalized([-1.0]).tolist() == [2.0]


@pytest.mark.parametrize(
    ("key", "found"),
    [(None, "libero_10_no_noops"), ("libero_10", "libero_10_no_noops")],
)
def test_datasets_without_idle_steps_answer_to_the_plain_name(key: Any, found: str) -> None:
    datasets = {"libero_10_no_noops": STATISTICS["libero_90"]}
    assert chosen_statistics(datasets, key)[0] == found


@pytest.mark.parametrize("key", [None, "libero_goal"])
def test_an_ambiguous_or_unknown_dataset_is_refused(key: Any) -> None:
    datasets = {"bridge": {"action": {}}, "libero_90": STATISTICS["libero_90"]}
    with pytest.raises(ValueError, match=r"must be one of \['bridge', 'libero_90'\], got"):
        chosen_statistics(datasets, key)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"q01": [0]}, r"\['q99'\] missing"),
        ({"q01": [0], "q99": [1, 2]}, r"of one length, got shapes \(1,\), \(2,\), \(1,\)"),
    ],
)
def test_incomplete_statistics_are_refused(action: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ActionStatistics.from_dict(action)
