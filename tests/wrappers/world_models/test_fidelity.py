"""Fidelity: agreement of predictions with measurements, by hand-computed numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from wmrl_envs.wrappers.world_models import Fidelity, fidelity

values = st.lists(st.floats(0, 1), min_size=2, max_size=30)


def test_hand_computed_numbers() -> None:
    found = fidelity([0.1, 0.5, 0.9, 0.3], [0.2, 0.4, 1.0, 0.3], ["a", "a", "b", "b"])
    assert found.count == 4
    assert found.bias == pytest.approx(-0.025)
    assert found.mae == pytest.approx(0.075)
    assert found.spearman == pytest.approx(1.0)
    assert found.within_spearman == pytest.approx(1.0)
    assert found.pearson == pytest.approx(np.corrcoef([1, 5, 9, 3], [2, 4, 10, 3])[0, 1])
    assert found.within_pearson == pytest.approx(1.0)


def test_agreement_within_groups_may_differ_from_that_over_all() -> None:
    found = fidelity([0.1, 0.2, 0.8, 0.9], [0.2, 0.1, 0.9, 0.8], ["a", "a", "b", "b"])
    assert found.within_spearman == pytest.approx(-1.0)
    assert found.spearman is not None and found.spearman > 0


@pytest.mark.parametrize("constant", [([0.5, 0.5], [0.1, 0.9]), ([0.1, 0.9], [0.5, 0.5])])
def test_a_constant_side_has_no_rank_agreement(constant: tuple[list[float], list[float]]) -> None:
    found = fidelity(*constant, groups=["a", "a"])
    assert found.spearman is None and found.within_spearman is None
    assert found.pearson is None and found.within_pearson is None


def test_a_single_pair_has_a_bias_and_no_rank_agreement() -> None:
    assert fidelity([0.7], [0.5]) == Fidelity(1, pytest.approx(0.2), pytest.approx(0.2), None, None)


def test_groups_of_one_and_constant_groups_are_left_out() -> None:
    found = fidelity([0.1, 0.2, 0.3, 0.5, 0.5], [0.1, 0.9, 0.3, 0.2, 0.4], ["a", "a", "b", 3, 3])
    assert found.within_spearman == pytest.approx(1.0)


@given(values, st.randoms())
def test_it_agrees_with_scipy(measured: list[float], rng: np.random.RandomState) -> None:
    predicted = measured.copy()
    rng.shuffle(predicted)
    found = fidelity(predicted, measured)
    if len(set(measured)) == 1:
        assert found.spearman is None
    else:
        assert found.spearman == pytest.approx(spearmanr(predicted, measured).statistic)


@pytest.mark.parametrize(
    ("predicted", "measured", "groups", "message"),
    [
        ([], [], None, "not empty"),
        ([0.1], [0.1, 0.2], None, "equally long"),
        ([[0.1]], [[0.1]], None, "equally long"),
        ([0.1, np.nan], [0.1, 0.2], None, "must be finite"),
        ([0.1], [np.inf], None, "must be finite"),
        ([0.1], [0.1], ["a", "b"], "groups must have 1 entries, got 2"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    predicted: list[float], measured: list[float], groups: list[str] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        fidelity(predicted, measured, groups)
