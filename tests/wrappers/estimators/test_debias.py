"""The debiasing map: monotone, equal to scikit-learn, safe when pairs are few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.isotonic import IsotonicRegression

from wmrl_envs.wrappers.estimators.debias import (
    BinnedDebiaser,
    IdentityDebiaser,
    IsotonicDebiaser,
)
from wmrl_envs.wrappers.estimators.isotonic import isotonic_knots

GRID = np.linspace(-0.5, 1.5, 201)
predicted = st.floats(-2, 3).map(lambda value: round(value, 2))
sizes = st.integers(1, 60)


def pairs(seed: int, size: int, digits: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.random(size).round(digits)
    return x, x**2 + 0.3 * rng.normal(size=size)


@given(st.integers(0, 10**6), sizes, st.integers(1, 3))
def test_knots_equal_scikit_learn_with_ties_and_weights(seed: int, size: int, digits: int) -> None:
    x, y = pairs(seed, size, digits)
    weights = np.random.default_rng(seed + 1).random(size) + 0.1
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=weights)
    ours = np.interp(GRID, *isotonic_knots(x, y, weights))
    np.testing.assert_allclose(ours, theirs.predict(GRID), atol=1e-12)


@given(st.integers(0, 10**6), sizes)
def test_without_prior_and_forgetting_the_map_is_scikit_learns(seed: int, size: int) -> None:
    x, y = pairs(seed, size)
    debiaser = IsotonicDebiaser(half_life=None, prior_pairs=0)
    debiaser.add(x, y)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    np.testing.assert_allclose(debiaser.map(GRID), theirs.predict(GRID), atol=1e-12)


@given(st.integers(0, 10**6), sizes, st.floats(1, 100))
def test_forgetting_is_scikit_learns_fit_with_halving_weights(
    seed: int, size: int, half_life: float
) -> None:
    x, y = pairs(seed, size)
    debiaser = IsotonicDebiaser(half_life, prior_pairs=0)
    for one in zip(x, y, strict=True):
        debiaser.add(*map(np.atleast_1d, one))
    weights = 0.5 ** (np.arange(size)[::-1] / half_life)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=weights)
    np.testing.assert_allclose(debiaser.map(GRID), theirs.predict(GRID), atol=1e-9)


@given(arrays(float, sizes, elements=predicted), st.integers(0, 10**6), st.sampled_from([0, 4, 32]))
def test_every_map_is_monotone(x: np.ndarray, seed: int, prior_pairs: int) -> None:
    debiaser = IsotonicDebiaser(prior_pairs=prior_pairs)
    debiaser.add(x, np.random.default_rng(seed).normal(size=x.size))
    assert np.all(np.diff(debiaser.map(np.linspace(-5, 5, 301))) >= -1e-9)


@given(st.integers(0, 10**6), sizes)
def test_with_a_prior_the_order_survives_on_plateaus(seed: int, size: int) -> None:
    x, y = pairs(seed, size)
    debiaser = IsotonicDebiaser()
    debiaser.add(x, y)
    if debiaser.map.slope > 1e-6:
        assert np.all(np.diff(debiaser.map(GRID)) > 0)


@given(st.integers(0, 10**6), sizes, st.floats(0.01, 100), st.floats(-10, 10))
def test_a_common_change_of_units_changes_the_map_alike(
    seed: int, size: int, scale: float, shift: float
) -> None:
    x, y = pairs(seed, size)
    plain, changed = IsotonicDebiaser(), IsotonicDebiaser()
    plain.add(x, y)
    changed.add(scale * x + shift, scale * y + shift)
    expected = scale * plain.map(x) + shift
    np.testing.assert_allclose(changed.map(scale * x + shift), expected, atol=1e-6 * (1 + scale))


@given(st.integers(0, 10**6), sizes, st.floats(0.01, 100), st.floats(-10, 10))
def test_the_isotonic_map_follows_any_change_of_units_of_the_measurements(
    seed: int, size: int, scale: float, shift: float
) -> None:
    x, y = pairs(seed, size)
    plain, changed = IsotonicDebiaser(prior_pairs=0), IsotonicDebiaser(prior_pairs=0)
    plain.add(x, y)
    changed.add(x, scale * y + shift)
    expected = scale * plain.map(GRID) + shift
    np.testing.assert_allclose(changed.map(GRID), expected, atol=1e-6 * (1 + scale))


@pytest.mark.parametrize("prior_pairs", [0, 32])
def test_a_thousand_tied_pairs_give_their_mean(prior_pairs: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([0.0, 0.1, 0.2, 0.525, 0.6, 0.725, 0.875], 7000)
    y = np.where(x > 0.3, 0.41, x) + 0.1 * rng.normal(size=x.size)
    debiaser = IsotonicDebiaser(half_life=None, prior_pairs=prior_pairs, capacity=7000)
    debiaser.add(x, y)
    assert debiaser.map(np.array([0.875]))[0] == pytest.approx(0.41, abs=0.02)


@pytest.mark.parametrize("make", [IdentityDebiaser, IsotonicDebiaser, BinnedDebiaser])
def test_without_pairs_every_map_is_the_identity(make: type) -> None:
    np.testing.assert_array_equal(make().map(GRID), GRID)


@pytest.mark.parametrize("make", [IdentityDebiaser, IsotonicDebiaser, BinnedDebiaser])
def test_pairs_with_a_nan_or_infinity_change_nothing(make: type) -> None:
    x, y = pairs(0, 300)
    holes = np.r_[x, 0.4, np.nan, np.nan, 0.1], np.r_[y, np.nan, 0.3, np.nan, np.inf]
    clean, holed = make(), make()
    clean.add(x, y)
    holed.add(*holes)
    np.testing.assert_array_equal(clean.map(GRID), holed.map(GRID))
    assert holed.effective_pairs == clean.effective_pairs


@pytest.mark.parametrize("prior_pairs", [0, 32])
def test_constant_predictions_map_to_the_mean_measurement(prior_pairs: int) -> None:
    debiaser = IsotonicDebiaser(half_life=None, prior_pairs=prior_pairs)
    debiaser.add(np.full(400, 0.5), np.tile([0.1, 0.3], 200))
    assert debiaser.map(np.array([0.5]))[0] == pytest.approx(0.2)
    assert np.all(np.isfinite(debiaser.map(GRID)))


def test_one_pair_moves_the_level_but_keeps_the_order() -> None:
    debiaser = IsotonicDebiaser()
    debiaser.add(np.array([0.4]), np.array([0.6]))
    mapped = debiaser.map(np.array([0.2, 0.4, 0.9]))
    assert mapped[1] == pytest.approx(0.6)
    assert mapped[0] < mapped[1] < mapped[2]


def test_the_plain_map_is_flat_outside_the_pairs() -> None:
    debiaser = IsotonicDebiaser(prior_pairs=0)
    debiaser.add(np.array([0.2, 0.8]), np.array([0.1, 0.4]))
    np.testing.assert_allclose(debiaser.map(np.array([-9.0, 0.2, 0.8, 9.0])), [0.1, 0.1, 0.4, 0.4])


def test_the_map_follows_a_drifting_bias() -> None:
    rng = np.random.default_rng(1)
    debiaser = IsotonicDebiaser(half_life=128)
    for bias in (0.0, 0.3):
        x = rng.random(1500)
        debiaser.add(x, x - bias + 0.05 * rng.normal(size=x.size))
    np.testing.assert_allclose(debiaser.map(GRID[60:140]), GRID[60:140] - 0.3, atol=0.06)


def test_only_the_newest_pairs_are_kept() -> None:
    debiaser = IsotonicDebiaser(half_life=None, prior_pairs=0, capacity=100)
    debiaser.add(np.full(500, 0.5), np.zeros(500))
    debiaser.add(np.full(100, 0.5), np.ones(100))
    assert debiaser.map(np.array([0.5]))[0] == 1.0
    assert debiaser.effective_pairs == 100


def simulated(seed: int, groups: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Ladder-like rewards (groups, 8) and predictions that are biased, saturated and noisy."""
    rng = np.random.default_rng(seed)
    level = rng.random((groups, 1))
    quality = 0.6 * level + 0.4 * rng.random((groups, 8))
    measured = np.where(quality > 0.35, 0.5 + 0.5 * quality, np.round(quality, 1))
    biased = 0.3 + 0.7 * measured**1.7 + 0.1 * np.sin(9 * measured)
    return np.clip(biased + noise * rng.normal(size=measured.shape), 0, 1), measured


def within_correlation(f: np.ndarray, r: np.ndarray) -> float:
    f, r = f - f.mean(-1, keepdims=True), r - r.mean(-1, keepdims=True)
    return float((f * r).sum() / np.sqrt((f**2).sum() * (r**2).sum()))


@pytest.mark.parametrize("noise", [0.1, 0.3])
@pytest.mark.parametrize("groups", [1, 3, 10, 30, 100])
def test_a_cold_map_is_never_worse_than_none(groups: int, noise: float) -> None:
    gains = []
    for seed in range(24):
        x, r = simulated(seed, groups, noise)
        test_x, test_r = simulated(seed + 1000, 96, noise)
        debiaser = IsotonicDebiaser()
        debiaser.add(x.ravel(), r.ravel())
        mapped = within_correlation(debiaser.map(test_x), test_r)
        gains.append(mapped - within_correlation(test_x, test_r))
    assert np.mean(gains) > -0.017


def test_the_authors_map_is_the_identity_below_two_hundred_pairs() -> None:
    x, y = pairs(0, 264)
    debiaser = BinnedDebiaser()
    debiaser.add(x[:199], y[:199])
    np.testing.assert_array_equal(debiaser.map(GRID), GRID)
    debiaser.add(x[199:200], y[199:200])
    first = debiaser.map
    assert first.knots_x.size
    debiaser.add(x[200:263], y[200:263])
    assert debiaser.map is first
    debiaser.add(x[263:], y[263:])
    assert debiaser.map is not first


@pytest.mark.parametrize("make", [IdentityDebiaser, IsotonicDebiaser, BinnedDebiaser])
def test_a_restored_debiaser_goes_on_bit_for_bit(make: type) -> None:
    x, y = pairs(2, 400)
    original, restored = make(), make()
    original.add(x[:230], y[:230])
    restored.load_state_dict(original.state_dict())
    for debiaser in (original, restored):
        debiaser.add(x[230:], y[230:])
    np.testing.assert_array_equal(original.map(GRID), restored.map(GRID))
    assert original.mean_measured == restored.mean_measured


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"half_life": 0}, "half_life"),
        ({"prior_pairs": -1}, "prior_pairs"),
        ({"slope_pairs": -1}, "slope_pairs"),
        ({"capacity": 0}, "capacity"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must .*, got {arguments[name]}"):
        IsotonicDebiaser(**arguments)
