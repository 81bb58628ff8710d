"""The composed correction: both methods, their ablations, and what must never happen."""

import io
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from wmrl_envs.wrappers.estimators import Correction

METHODS = ("rectified", "paper", "reference")
NAN = np.nan


def groups(seed: int, number: int, bias: float = 0.2, noise: float = 0.1, size: int = 8) -> list:
    """Anchor groups (predicted, measured) of a saturating world model."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        measured = 0.5 * rng.random() + 0.5 * rng.random(size)
        predicted = bias + (1 - bias) * measured**0.7 + noise * rng.normal(size=size)
        found.append((predicted, measured))
    return found


def learned(method: str = "rectified", number: int = 40, **arguments: object) -> Correction:
    correction = Correction(method, **arguments)
    for group in groups(0, number):
        correction.update([group])
    return correction


def unmeasured(correction: Correction, predicted: np.ndarray) -> np.ndarray:
    size = predicted.size
    return correction.correct(predicted, np.full(size, NAN), np.zeros(size, bool)).reward


@pytest.mark.parametrize("method", METHODS)
def test_before_any_pair_predictions_stay(method: str) -> None:
    predicted = np.array([0.1, 0.9])
    np.testing.assert_array_equal(unmeasured(Correction(method), predicted), predicted)


@pytest.mark.parametrize("method", ["rectified", "paper"])
def test_predictions_are_debiased(method: str) -> None:
    predicted, measured = map(np.concatenate, zip(*groups(9, 200), strict=True))
    result = learned(method).correct(
        predicted, np.full(predicted.size, NAN), np.zeros(predicted.size, bool)
    )
    assert abs((predicted - measured).mean()) > 0.1
    assert abs((result.corrected - measured).mean()) < 0.03
    assert abs((result.reward - measured).mean()) < 0.03


def test_the_papers_reward_is_the_measurement_or_the_map() -> None:
    correction = learned("paper")
    predicted, measured = np.array([0.4, 0.8]), np.array([0.3, NAN])
    result = correction.correct(predicted, measured, np.array([True, False]))
    assert result.reward[0] == 0.3
    assert result.reward[1] == result.corrected[1]
    assert result.weight[1] == 1.0
    assert result.weight[0] == correction.diagnostics()["anchor_weight"] > 1.0


def test_the_rectified_advantages_are_lambda_f_plus_k_times_the_residual() -> None:
    correction = learned(fraction=0.1)
    slope, k = correction.diagnostics()["slope"], correction.diagnostics()["rectify"]
    predicted, measured = groups(5, 1)[0]
    f = correction.current.map(predicted)
    anchored = correction.correct(predicted, measured, np.ones(8, bool)).reward
    expected = slope * f + k * (measured - slope * f)
    np.testing.assert_allclose(anchored - anchored.mean(), expected - expected.mean(), atol=1e-12)
    plain = unmeasured(correction, predicted)
    np.testing.assert_allclose(plain - plain.mean(), slope * (f - f.mean()), atol=1e-12)
    assert (k, slope < 1) == (3.0, True)


def test_with_k_of_one_over_p_advantages_are_right_on_average_however_wrong_the_model() -> None:
    correction = learned(fraction=0.1, max_rectify=10.0)
    predicted, measured = groups(5, 1, noise=3.0)[0]
    anchored = correction.correct(predicted, measured, np.ones(8, bool)).reward
    average = 0.1 * anchored + 0.9 * unmeasured(correction, predicted)
    np.testing.assert_allclose(average - average.mean(), measured - measured.mean(), atol=1e-12)


@pytest.mark.parametrize(("fraction", "k"), [(0.1, 3.0), (0.5, 2.0), (1.0, 1.0), (0.0, 3.0)])
def test_the_residual_counts_at_most_three_times_and_at_most_one_over_p(
    fraction: float, k: float
) -> None:
    assert Correction(fraction=fraction).diagnostics()["rectify"] == k


def test_where_every_group_is_an_anchor_rewards_are_the_measurements() -> None:
    correction = learned(fraction=1.0)
    predicted, measured = groups(5, 1)[0]
    result = correction.correct(predicted, measured, np.ones(8, bool))
    np.testing.assert_allclose(result.reward, measured)


def test_anchors_and_others_have_one_level() -> None:
    correction = learned(number=400)
    predicted, measured = map(np.concatenate, zip(*groups(7, 400), strict=True))
    anchored = correction.correct(predicted, measured, np.ones(predicted.size, bool)).reward
    assert anchored.mean() == pytest.approx(unmeasured(correction, predicted).mean(), abs=0.03)


def test_the_switches_leave_out_one_correction_each() -> None:
    predicted, measured = np.array([0.4, 0.8]), np.array([0.3, NAN])
    anchor = np.array([True, False])
    for method in ("rectified", "paper"):
        neither = learned(method, debias=False, denoise=False)
        result = neither.correct(predicted, measured, anchor)
        np.testing.assert_array_equal(result.reward, [0.3, 0.8])
        np.testing.assert_array_equal(result.weight, [1.0, 1.0])
        only_map = learned(method, denoise=False).correct(predicted, measured, anchor)
        assert only_map.reward[0] == 0.3
        assert only_map.reward[1] == only_map.corrected[1] != 0.8
    only_weight = learned("paper", debias=False).correct(predicted, measured, anchor)
    assert only_weight.reward[1] == 0.8
    assert only_weight.weight[0] > 1.0


def test_residuals_are_measured_before_the_group_enters_the_map() -> None:
    correction = Correction("paper", prior_pairs=0, prior_df=0)
    predicted, measured = groups(3, 1, bias=0.3)[0]
    correction.update([(predicted, measured)])
    residual = measured - predicted
    diagnostics = correction.diagnostics()
    assert diagnostics["mean_residual"] == pytest.approx(residual.mean())
    assert diagnostics["residual_variance"] == pytest.approx(residual.var(ddof=1))


@given(st.integers(0, 10**6), st.integers(0, 20), st.sampled_from(METHODS))
def test_weights_are_positive_and_rewards_of_graded_rows_finite(
    seed: int, number: int, method: str
) -> None:
    correction = Correction(method)
    correction.update(groups(seed, number))
    predicted, measured = groups(seed + 1, 1)[0]
    result = correction.correct(predicted, measured, np.arange(8) < 4)
    assert np.all(result.weight >= 1)
    assert np.all(np.isfinite(result.reward))


@given(st.integers(0, 10**6), st.sampled_from(METHODS))
def test_ungraded_rows_change_nothing(seed: int, method: str) -> None:
    clean, holed = Correction(method), Correction(method)
    for predicted, measured in groups(seed, 12):
        clean.update([(predicted, measured)])
        holed.update(
            [
                (np.r_[predicted, NAN, 0.5], np.r_[measured, 0.5, NAN]),
                (np.array([NAN, 0.3]), np.array([0.1, NAN])),
                (np.empty(0), np.empty(0)),
            ]
        )
    grid = np.linspace(0, 1, 11)
    np.testing.assert_array_equal(unmeasured(clean, grid), unmeasured(holed, grid))
    assert clean.diagnostics() == holed.diagnostics()


@given(st.integers(0, 10**6), st.integers(0, 20), st.sampled_from(["rectified", "paper"]))
def test_the_order_of_predictions_is_kept_within_a_group(
    seed: int, number: int, method: str
) -> None:
    correction = Correction(method)
    correction.update(groups(seed, number))
    predicted = np.sort(np.random.default_rng(seed).random(8))
    assert np.all(np.diff(unmeasured(correction, predicted)) >= -1e-12)


@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-10, 10))
def test_a_common_change_of_units_changes_rewards_alike(
    seed: int, scale: float, shift: float
) -> None:
    for method in ("rectified", "paper"):
        plain, changed = Correction(method), Correction(method)
        for predicted, measured in groups(seed, 6):
            plain.update([(predicted, measured)])
            changed.update([(scale * predicted + shift, scale * measured + shift)])
        predicted, measured = groups(seed + 1, 1)[0]
        anchor = np.arange(8) < 4
        expected = plain.correct(predicted, measured, anchor)
        result = changed.correct(scale * predicted + shift, scale * measured + shift, anchor)
        tolerance = 1e-5 * (1 + scale)
        np.testing.assert_allclose(result.reward, scale * expected.reward + shift, atol=tolerance)
        np.testing.assert_allclose(result.weight, expected.weight, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_group_of_equals_gets_equal_rewards(method: str) -> None:
    correction = learned(method)
    for anchor in (False, True):
        result = correction.correct(np.full(8, 0.6), np.full(8, 0.4), np.full(8, anchor))
        assert np.ptp(result.reward) == 0


def test_an_anticorrelated_world_model_is_left_out() -> None:
    correction = Correction()
    for predicted, measured in groups(0, 60):
        correction.update([(1 - predicted, measured)])
    rewards = unmeasured(correction, np.linspace(0, 1, 8))
    assert correction.diagnostics()["slope"] == 0.0
    assert np.ptp(rewards) < 1e-12


def test_an_anchor_without_prediction_keeps_its_measurement() -> None:
    result = learned().correct(np.array([NAN]), np.array([0.4]), np.array([True]))
    assert result.reward[0] == pytest.approx(0.4)


def test_an_anchor_without_measurement_and_an_episode_without_prediction_are_ungraded() -> None:
    result = learned().correct(np.array([0.4, NAN]), np.array([NAN, NAN]), np.array([True, False]))
    assert np.all(np.isnan(result.reward))
    assert np.isfinite(result.corrected[0])


def test_groups_of_one_are_pooled_in_eights() -> None:
    together, apart = Correction(), Correction()
    predicted, measured = groups(0, 1, noise=0.4)[0]
    for one in zip(predicted, measured, strict=True):
        assert apart.diagnostics()["residual_variance"] == 0
        apart.update([tuple(map(np.atleast_1d, one))])
    together.update([(predicted, measured)])
    assert apart.diagnostics()["residual_variance"] > 0
    assert apart.diagnostics()["effective_pairs"] == together.diagnostics()["effective_pairs"]


def test_a_seeded_map_works_before_the_first_anchor() -> None:
    predicted, measured = map(np.concatenate, zip(*groups(0, 40), strict=True))
    seeded = Correction("paper")
    seeded.seed_pairs(predicted, measured)
    assert abs(unmeasured(seeded, predicted).mean() - measured.mean()) < 0.03
    assert seeded.diagnostics()["anchor_weight"] == 1.0


def test_a_log_with_groups_starts_the_weights_from_maps_of_the_other_half() -> None:
    predicted, measured = map(np.concatenate, zip(*groups(0, 40), strict=True))
    seeded = Correction("paper")
    seeded.seed_pairs(predicted, measured, groups=np.repeat(np.arange(40), 8))
    assert seeded.diagnostics()["anchor_weight"] == pytest.approx(
        learned("paper").diagnostics()["anchor_weight"], abs=0.15
    )
    assert abs(seeded.diagnostics()["mean_residual"]) < 0.03


def test_a_log_of_one_group_still_starts_the_map() -> None:
    seeded = Correction()
    seeded.seed_pairs(np.array([0.5, 0.6, NAN]), np.array([0.2, 0.3, 0.1]), groups=["a"] * 3)
    assert unmeasured(seeded, np.array([0.55]))[0] < 0.5


def test_a_frozen_correction_does_not_learn() -> None:
    correction = learned()
    correction.frozen = True
    before = correction.current
    correction.update(groups(1, 5))
    assert correction.current is before


def test_the_anchor_share_is_counted() -> None:
    correction = Correction()
    for anchor in (True, False, False, False):
        correction.correct(np.full(2, 0.5), np.full(2, 0.5), np.full(2, anchor))
    assert correction.diagnostics()["anchor_share"] == 0.25


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("debias", [True, False])
def test_a_state_saved_as_arrays_goes_on_bit_for_bit(method: str, debias: bool) -> None:
    original = learned(method, debias=debias)
    original.update(groups(4, 3, size=1))
    saved = io.BytesIO()
    np.savez(saved, **original.state_dict())
    saved.seek(0)
    restored = Correction(method, debias=debias)
    restored.load_state_dict(np.load(saved, allow_pickle=False))
    for correction in (original, restored):
        correction.update(groups(2, 3) + groups(5, 6, size=1))
    predicted, measured = groups(3, 1)[0]
    anchor = np.arange(8) < 4
    for ours, theirs in zip(
        original.correct(predicted, measured, anchor),
        restored.correct(predicted, measured, anchor),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert original.diagnostics() == restored.diagnostics()


def test_a_state_of_another_method_is_refused() -> None:
    with pytest.raises(ValueError, match=r"state lacks .'debias/knots_x'.*method='reference'"):
        Correction("reference").load_state_dict(learned("paper").state_dict())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "isotonic"}, "method must be one of .*, got 'isotonic'"),
        ({"fraction": 2}, "fraction must lie in .0, 1., got 2"),
        ({"max_weight": 0.5}, "max_weight must be at least 1, got 0.5"),
        ({"max_rectify": 0}, "max_rectify must be at least 1, got 0"),
        ({"half_life": -1}, "half_life must be positive or None, got -1"),
        ({"prior_correlation": 2}, "prior_correlation"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Correction(**arguments)


def test_sides_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="one shape"):
        Correction().update([(np.zeros(3), np.zeros(2))])
    with pytest.raises(ValueError, match="groups must have length 3, got 2"):
        Correction().seed_pairs(np.zeros(3), np.zeros(3), groups=[1, 2])


def quickest(work: Callable[[], object]) -> float:
    """Seconds of the quickest of twenty calls."""
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def test_a_step_on_three_thousand_pairs_is_quicker_than_one_fit_of_scikit_learn() -> None:
    predicted, measured = map(np.concatenate, zip(*groups(0, 375), strict=True))
    correction = Correction()
    correction.seed_pairs(predicted, measured)
    anchors, batch = groups(1, 1), predicted[:80]
    missing, anchor = np.full(80, NAN), np.zeros(80, bool)

    def step() -> None:
        correction.update(anchors)
        correction.correct(batch, missing, anchor)

    theirs = IsotonicRegression(out_of_bounds="clip")
    assert quickest(step) < quickest(lambda: theirs.fit(predicted, measured))


@pytest.mark.parametrize("method", ["paper", "rectified"])
def test_jointly_an_anchor_is_the_inverse_variance_mean_of_both_streams(method):
    generator = np.random.default_rng(0)
    correction = Correction(method, joint=True, fraction=1.0)
    for _ in range(40):
        measured = generator.uniform(size=8)
        correction.update([(measured + generator.normal(0, 0.3, 8), measured)])
    share = correction.current.rectify
    apart = Correction("paper")
    apart.load_state_dict(correction.state_dict())
    weight = apart.current.anchor_weight
    assert 1.0 < weight < 4.0
    assert share == pytest.approx(weight / (weight + 1))
    predicted, measured = np.array([0.3, 0.9]), np.array([1.0, 0.2])
    found = correction.correct(predicted, measured, np.array([True, True]))
    level = correction.correct(predicted, np.full(2, np.nan), np.array([False, False])).reward
    assert found.reward == pytest.approx(share * measured + (1 - share) * level)
    assert found.weight.tolist() == [1.0, 1.0]


def test_jointly_without_denoising_both_streams_count_alike():
    correction = Correction("paper", joint=True, debias=False, denoise=False)
    found = correction.correct(np.array([0.4]), np.array([1.0]), np.array([True]))
    assert found.reward.tolist() == [0.7]
    assert correction.correct(np.array([np.nan]), np.array([1.0]), np.array([True])).reward == [1.0]
