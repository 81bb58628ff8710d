"""Within-group moments and the weights that follow from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.estimators.denoise import ReferenceWeighter, WithinGroupMoments


def groups(seed: int, number: int, noise: float = 0.1) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        r = rng.random(8)
        found.append((r, r + noise * rng.normal(size=8)))
    return found


def filled(number: int = 200, noise: float = 0.1, **arguments: float) -> WithinGroupMoments:
    moments = WithinGroupMoments(**arguments)
    for r, f in groups(0, number, noise):
        moments.add(r, f)
    return moments


def test_the_slope_is_the_within_group_regression_of_measured_on_mapped_rewards() -> None:
    r, f = map(np.stack, zip(*groups(0, 50), strict=True))
    moments = WithinGroupMoments(half_life=1e12, prior_df=0)
    for one in zip(r, f, strict=True):
        moments.add(*one)
    r, f = r - r.mean(1, keepdims=True), f - f.mean(1, keepdims=True)
    assert moments.slope == pytest.approx((r * f).sum() / (f * f).sum())
    assert moments.residual_variance == pytest.approx(((r - f) ** 2).sum() / (50 * 7))


@given(st.floats(-100, 100), st.integers(0, 10**6))
def test_a_constant_added_to_a_group_changes_nothing(shift: float, seed: int) -> None:
    plain, shifted = WithinGroupMoments(), WithinGroupMoments()
    for r, f in groups(seed, 3):
        plain.add(r, f)
        shifted.add(r + shift, f + shift)
    assert shifted.slope == pytest.approx(plain.slope, abs=1e-6)
    assert shifted.anchor_weight() == pytest.approx(plain.anchor_weight(), abs=1e-6)


@given(st.floats(0.01, 100), st.integers(0, 10**6))
def test_a_common_scale_changes_neither_slope_nor_weight(scale: float, seed: int) -> None:
    plain, scaled = WithinGroupMoments(), WithinGroupMoments()
    for r, f in groups(seed, 3):
        plain.add(r, f)
        scaled.add(scale * r, scale * f)
    assert scaled.slope == pytest.approx(plain.slope)
    assert scaled.anchor_weight() == pytest.approx(plain.anchor_weight())


def test_before_any_group_slope_and_weight_are_one() -> None:
    assert WithinGroupMoments().slope == 1.0
    assert WithinGroupMoments().anchor_weight() == 1.0


def test_the_prior_fades_with_the_degrees_of_freedom() -> None:
    r, f = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 3.0])
    moments = WithinGroupMoments(prior_df=8, prior_correlation=0.7)
    moments.add(r, f)
    assert moments.slope == pytest.approx(3 / 11 * 1.0 + 8 / 11 * 0.7)
    assert filled(noise=1e-9).slope == pytest.approx(1.0, abs=0.02)


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0, 5))
def test_slopes_are_not_negative_and_weights_lie_between_one_and_four(
    seed: int, number: int, noise: float
) -> None:
    moments, reference = WithinGroupMoments(), ReferenceWeighter()
    for r, f in groups(seed, number, noise):
        moments.add(r, -f)
        reference.add(r, -f)
    assert moments.slope >= 0
    assert 1 <= moments.anchor_weight() <= 4
    assert 1 <= reference.anchor_weight() <= 4


def test_an_anticorrelated_world_model_gets_slope_zero() -> None:
    moments = WithinGroupMoments()
    for r, f in groups(0, 50):
        moments.add(r, 1 - f)
    assert moments.slope == 0.0


def test_the_weight_is_one_plus_the_residual_variance_ratio() -> None:
    noise = 0.2
    expected = 1 + noise**2 / (1 / 12)
    moments = filled(2000, noise, half_life=500, prior_df=0)
    assert moments.anchor_weight() == pytest.approx(expected, rel=0.03)


def test_a_nearly_constant_group_does_not_blow_up_the_weight() -> None:
    moments = filled(40)
    before = moments.anchor_weight()
    flat = np.full(8, 0.5) + 1e-6 * np.arange(8)
    moments.add(flat, flat + 0.3 * np.array([1, -1] * 4))
    assert moments.anchor_weight() < before + 0.1


def test_constant_groups_alone_leave_weight_one() -> None:
    moments = WithinGroupMoments()
    moments.add(np.full(8, 0.5), np.linspace(0, 1, 8))
    assert moments.anchor_weight() == 1.0


def test_constant_predictions_carry_no_information() -> None:
    moments = WithinGroupMoments()
    moments.add(np.linspace(0, 1, 8), np.full(8, 0.5))
    assert moments.slope == 0.0


def test_old_groups_are_forgotten() -> None:
    moments = WithinGroupMoments(half_life=4)
    for r, f in groups(0, 100, 1.0):
        moments.add(r, f)
    for r, f in groups(1, 60, 0.01):
        moments.add(r, f)
    assert moments.residual_variance < 0.05


def test_the_mean_residual_tells_the_bias() -> None:
    moments = WithinGroupMoments()
    for r, f in groups(0, 50, 0.01):
        moments.add(r, f + 0.25)
    assert moments.mean_residual == pytest.approx(-0.25, abs=0.01)


def test_the_authors_weight_is_two_after_the_warm_up() -> None:
    weighter = ReferenceWeighter()
    for r, f in groups(0, 31):
        weighter.add(r, f)
    assert weighter.anchor_weight() == 1.0
    weighter.add(*groups(1, 1)[0])
    assert weighter.anchor_weight() == pytest.approx(2.0)
    for r, f in groups(2, 300, 1.0):
        weighter.add(r, f)
    assert weighter.anchor_weight() == 4.0


@pytest.mark.parametrize("make", [WithinGroupMoments, ReferenceWeighter])
def test_a_restored_estimator_goes_on_bit_for_bit(make: type) -> None:
    original, restored = make(), make()
    for r, f in groups(0, 40):
        original.add(r, f)
    restored.load_state_dict(original.state_dict())
    for r, f in groups(1, 5, 0.4):
        original.add(r, f)
        restored.add(r, f)
    assert original.anchor_weight() == restored.anchor_weight()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"half_life": 0}, "half_life"),
        ({"prior_df": -1}, "prior_df"),
        ({"prior_correlation": 1.5}, "prior_correlation"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must .*, got {arguments[name]}"):
        WithinGroupMoments(**arguments)
