"""Per-frame progress collapsed into one reward."""

import numpy as np
import pytest

from wmrl_envs.wrappers.world_models.progress_reward import collapse_progress

RISING = np.array([0.0, 0.1, 0.2, 0.5, 0.7, 0.8, 1.0, 0.9])


@pytest.mark.parametrize(
    ("collapse", "expected"), [("potential", 0.9 - 0.1), ("final", 0.9), ("max", 1.0)]
)
def test_each_way_gives_its_hand_computed_value(collapse: str, expected: float) -> None:
    assert collapse_progress(RISING, collapse) == pytest.approx(expected)


def test_potential_of_few_frames_compares_halves() -> None:
    assert collapse_progress(np.array([0.2, 0.9, 0.6]), "potential") == pytest.approx(0.4)


def test_a_single_frame_has_no_potential() -> None:
    assert collapse_progress(np.array([0.7]), "potential") is None


def test_progress_outside_its_range_is_clipped() -> None:
    assert collapse_progress(np.array([-0.5, 1.5]), "potential") == 1.0


def test_a_rollout_that_loses_ground_has_negative_potential() -> None:
    assert collapse_progress(RISING[::-1], "potential") < 0.0


@pytest.mark.parametrize("progress", [np.zeros(0), np.zeros((2, 2))])
def test_what_is_no_sequence_of_frames_is_refused(progress: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at least one frame"):
        collapse_progress(progress, "final")


def test_an_unknown_way_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="got 'mean'"):
        collapse_progress(RISING, "mean")
