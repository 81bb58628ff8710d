"""Both theorems hold in the quick form, within the bounds that the full form was checked for."""

from pathlib import Path

import numpy as np
import pytest

from wmrl_envs.benchmarks.evidence.quadratic import draw, estimate, gap
from wmrl_envs.benchmarks.evidence.theorems_report import (
    Theorems,
    check_theorems,
    plot_theorems,
    theorems_comparison,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> Theorems:
    return check_theorems(quick=True)


def test_the_floor_grows_with_the_powers_of_theorem_1(found: Theorems) -> None:
    slopes = {floor.cause: floor.slope for floor in found.floors}
    assert slopes["bias B"] == pytest.approx(2.0, abs=0.15)
    assert slopes["learning rate gamma"] == pytest.approx(1.0, abs=0.05)
    assert slopes["noise sigma"] == pytest.approx(2.0, abs=0.05)


def test_the_transient_falls_faster_than_its_bound(found: Theorems) -> None:
    assert found.rate.measured < found.rate.bound < 1.0 and found.rate.stays_below


def test_debiasing_removes_bias_as_one_over_t_but_not_all_of_it(found: Theorems) -> None:
    [decay] = found.decays
    assert decay.slope == pytest.approx(-1.0, abs=0.2)
    assert 0.01 * decay.raw < decay.limit < 0.2 * decay.raw


def test_weights_divide_the_variance_by_what_theorem_2_says(found: Theorems) -> None:
    for variance in found.variances:
        assert variance.factor == pytest.approx(variance.expected, rel=0.02)
        assert variance.factor > variance.plain


def test_the_table_and_the_plot_show_all_of_it(found: Theorems, tmp_path: Path) -> None:
    comparison = theorems_comparison(found, ["bench", "theorems", "--quick"])
    assert len(comparison.rows) == 3 + 1 + len(found.decays) + len(found.variances)
    assert any("not to zero" in finding for finding in comparison.findings)
    comparison.write(tmp_path)
    plot_theorems(found, tmp_path / "theorems.png")
    assert (tmp_path / "theorems.png").read_bytes()[:4] == b"\x89PNG"


def test_the_estimator_is_unbiased_for_the_gradient_of_the_objective() -> None:
    theta = np.tile([[0.7, -0.4]], (20_000, 1))
    batch = draw(theta, np.random.default_rng(0), groups=4)
    found = estimate(batch, batch.rewards)
    step = 1e-4
    slope = [(gap(theta[0] + step * e) - gap(theta[0] - step * e)) / (2 * step) for e in np.eye(2)]
    error = found.std(0) / np.sqrt(len(found))
    assert (np.abs(found.mean(0) + slope) < 4 * error).all()
