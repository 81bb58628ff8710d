"""Correlations agree with SciPy, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from wmrl_envs.wrappers.estimators.ranks import average_ranks, kendall, pearson, spearman

tied = arrays(np.float64, st.integers(0, 12), elements=st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]))


@given(tied, st.randoms(use_true_random=False))
def test_they_agree_with_scipy(x: np.ndarray, random: object) -> None:
    y = np.roll(x, 1) + np.round(np.linspace(0, 0.2, x.size), 1)
    both_vary = x.size > 1 and np.ptp(x) > 0 and np.ptp(y) > 0
    for ours, theirs in (
        (pearson, stats.pearsonr),
        (spearman, stats.spearmanr),
        (kendall, stats.kendalltau),
    ):
        expected = pytest.approx(theirs(x, y).statistic, abs=1e-9) if both_vary else None
        assert ours(x, y) == expected


@given(tied)
def test_ranks_are_scipys(x: np.ndarray) -> None:
    np.testing.assert_array_equal(average_ranks(x), stats.rankdata(x))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_unit_of_the_reward_does_not_matter(scale: float) -> None:
    x, y = np.array([0.1, 0.4, 0.2]), np.array([0.3, 0.9, 0.1])
    assert pearson(x * scale, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman(x, y * scale) == spearman(x, y)
