"""The simulated ablation; only what holds on nearly all seeds is asserted."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from wmrl_envs.benchmarks.evidence.ablation import ARMS, Outcome, run_arm
from wmrl_envs.benchmarks.evidence.ablation_report import (
    ablation_comparison,
    difference,
    plot_ablation,
    run_ablation,
)
from wmrl_envs.benchmarks.evidence.bandit import SCENARIOS, LadderBandit

SEEDS = range(3000, 3005)


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Outcome]]:
    return run_ablation(["base"], SEEDS)


@pytest.fixture(scope="module")
def base(found: dict[str, dict[str, Outcome]]) -> Mapping[str, Outcome]:
    return found["base"]


pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("better", "worse"),
    [("denoise", "neither"), ("debias", "denoise"), ("both", "debias")],
)
def test_the_authors_form_gains_from_each_correction(
    base: Mapping[str, Outcome], better: str, worse: str
) -> None:
    assert difference(base[f"reference: {better}"], base[f"reference: {worse}"]).mean > 0


@pytest.mark.parametrize("one", ["denoise", "debias"])
def test_the_papers_form_gains_from_each_correction(base: Mapping[str, Outcome], one: str) -> None:
    assert difference(base[f"paper: {one}"], base["paper: neither"]).mean > 0
    assert difference(base["paper: both"], base[f"paper: {one}"]).mean > -0.001


def test_the_rectified_form_comes_close_to_real_execution_at_a_tenth_of_its_cost(
    base: Mapping[str, Outcome],
) -> None:
    real, ours = base["real"], base["rectified"]
    assert ours.executions * 10 == real.executions
    assert ours.final.mean() > 0.97 * real.final.mean()
    assert difference(ours, base["reference: both"]).mean > 0.005
    assert (ours.area - base["real, a tenth"].area).mean() > 0


def test_no_arm_but_the_pure_world_model_goes_without_executions(
    base: Mapping[str, Outcome],
) -> None:
    free = [name for name, outcome in base.items() if outcome.executions == 0]
    assert free == ["world model"] and set(base) == set(ARMS)


def test_an_arm_is_reproducible() -> None:
    first, second = (run_arm(SCENARIOS["drift"], ARMS["rectified"], [1, 2], 20) for _ in range(2))
    assert np.array_equal(first.curve, second.curve)


def test_the_gradient_of_the_true_reward_raises_the_score() -> None:
    bandit = LadderBandit(SCENARIOS["base"], [0, 1], groups=256)
    start = bandit.start()
    batch = bandit.draw(start, np.random.default_rng(0))
    centred = batch.rewards - batch.rewards.mean(-1, keepdims=True)
    moved = start + 2.0 * bandit.gradient(batch, centred)
    assert (bandit.score(moved) > bandit.score(start)).all()


def test_looks_fool_the_world_model_and_not_the_reward() -> None:
    bandit = LadderBandit(SCENARIOS["drift"], [0], groups=256)
    batch = bandit.draw(bandit.start(), np.random.default_rng(0))
    looks = batch.noise[..., 2]
    bias = batch.predictions - batch.rewards
    assert bias[looks > 1].mean() > bias[looks < -1].mean() + 0.05
    assert batch.rewards[looks > 1].mean() < batch.rewards[looks < -1].mean() + 0.02


def test_the_table_says_where_the_order_fails(
    found: dict[str, dict[str, Outcome]], tmp_path: Path
) -> None:
    comparison = ablation_comparison(found, SEEDS, ["bench", "ablation"])
    assert len(comparison.rows) == len(ARMS) and comparison.columns[2:] == ("base",)
    assert any("of reference holds" in finding for finding in comparison.findings)
    turned = {**found["base"], "reference: both": found["base"]["reference: neither"]}
    text = " ".join(ablation_comparison({"base": turned}, SEEDS, []).findings)
    assert "of reference does NOT hold" in text
    plot_ablation(found, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"
