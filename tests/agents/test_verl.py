"""The functions for verl's hook, without verl."""

import numpy as np
import pytest

from wmrl_envs.agents.advantages import group_advantages
from wmrl_envs.agents.verl import anchor_rows, token_advantages
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.estimators.correction import Correction

NAN = float("nan")


def batch(seed: int = 0) -> dict[str, np.ndarray]:
    """Five groups of four, two of them anchors."""
    rng = np.random.default_rng(seed)
    reward = rng.random(20)
    anchor = np.repeat([True, False, False, True, False], 4)
    return {
        "predicted": 0.3 + 0.7 * reward**2,
        "measured": np.where(anchor, reward, NAN),
        "anchor": anchor,
        "uid": np.repeat(["u7", "u3", "u9", "u1", "u5"], 4),
        "response_mask": np.tri(20, 6, 2),
    }


def test_advantages_are_those_of_our_own_grpo_spread_over_the_mask() -> None:
    rows, method = batch(), "paper"
    found = token_advantages(Correction(method), **rows)
    ours = Correction(method)
    ours.update([(rows["predicted"][at], rows["measured"][at]) for at in (slice(4), slice(12, 16))])
    corrected = ours.correct(rows["predicted"], rows["measured"], rows["anchor"])
    expected = group_advantages(
        corrected.reward, np.repeat(np.arange(5), 4), weights=corrected.weight
    ).values
    np.testing.assert_allclose(found, expected[:, None] * rows["response_mask"], atol=1e-6)


def test_groups_may_be_dealt_out_over_the_batch() -> None:
    rows = batch()
    order = np.arange(20).reshape(5, 4).T.ravel()
    straight = token_advantages(Correction(), **rows)
    dealt = token_advantages(Correction(), **{k: v[order] for k, v in rows.items()})
    np.testing.assert_allclose(dealt, straight[order], atol=1e-6)


def test_a_failed_measurement_is_left_out_and_never_a_zero() -> None:
    rows = batch()
    rows["measured"][0] = NAN
    found = token_advantages(Correction(), **rows)
    assert not found[0].any() and found[1:4].any() and np.isfinite(found).all()


def test_the_names_of_groups_do_not_matter() -> None:
    rows = batch()
    renamed = {**rows, "uid": np.array([f"x{u}" for u in rows["uid"]])}
    first, second = (token_advantages(Correction(), **r) for r in (rows, renamed))
    assert np.array_equal(first, second)


def test_a_group_that_is_half_an_anchor_is_refused() -> None:
    rows = batch()
    rows["anchor"] = rows["anchor"].copy()
    rows["anchor"][0] = False
    with pytest.raises(ValueError, match="a group is measured or not"):
        token_advantages(Correction(), **rows)


def test_every_worker_draws_the_same_anchors_within_the_budget() -> None:
    drawn = np.concatenate([anchor_rows(AnchorDraw(0.25, seed=2), step, 8) for step in range(10)])
    assert drawn.sum() == 20
    assert np.array_equal(drawn[40:48], anchor_rows(AnchorDraw(0.25, seed=2), 5, 8))


@pytest.mark.parametrize(("step", "prompts"), [(-1, 8), (0, 0)])
def test_an_impossible_place_in_the_run_is_refused(step: int, prompts: int) -> None:
    with pytest.raises(ValueError, match=f"got {step} and {prompts}"):
        anchor_rows(AnchorDraw(0.1), step, prompts)
