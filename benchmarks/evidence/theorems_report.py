"""``wmrl bench theorems`` as a table, sentences and plots."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wmrl_envs.benchmarks.evidence.theorems import (
    BiasDecay,
    Floor,
    Rate,
    Variance,
    bias_decay,
    floors,
    rate,
    variances,
)
from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.throughput.report import Comparison

__all__ = ["Theorems", "check_theorems", "plot_theorems", "theorems_comparison"]

_PACKAGES = ("wmrl-envs", "numpy", "scikit-learn")


@dataclass(frozen=True)
class Theorems:
    """Everything that was measured."""

    floors: Sequence[Floor]
    rate: Rate
    decays: Sequence[BiasDecay]
    variances: Sequence[Variance]


def check_theorems(quick: bool) -> Theorems:
    """Measures both theorems; the quick form has fewer runs and fewer noises."""
    steps = (10, 30, 100, 300) if quick else (3, 10, 30, 100, 300, 1000)
    sigmas = (0.1,) if quick else (0.03, 0.1, 0.4)
    noises = (0.4, 1.6) if quick else (0.1, 0.2, 0.4, 0.8, 1.6)
    return Theorems(
        floors=floors(24 if quick else 96),
        rate=rate(24 if quick else 96),
        decays=[bias_decay(sigma, steps, 16 if quick else 64) for sigma in sigmas],
        variances=variances(noises, 40_000 if quick else 200_000),
    )


def theorems_comparison(found: Theorems, command: Sequence[str]) -> Comparison:
    """The table: what was varied, what the theorem says, what was measured."""
    rows: list[tuple[Any, ...]] = [
        ("1", f"floor against {f.cause}", "exponent", f.expected, f.slope) for f in found.floors
    ]
    rows.append(("1", "fall of the gap a step", "at most", found.rate.bound, found.rate.measured))
    rows += [
        ("2", f"squared bias against T, noise {d.sigma:g}", "exponent", -1.0, d.slope)
        for d in found.decays
    ]
    rows += [
        ("2", f"V_WM over fused variance, noise {v.sigma:g}", "1 + V_WM/V_E", v.expected, v.factor)
        for v in found.variances
    ]
    return Comparison(
        title="The theorems of WMRL, with a genuine GRPO estimator on a quadratic objective",
        columns=("theorem", "quantity", "as", "theory", "measured"),
        rows=rows,
        findings=[*map(_limit, found.decays), _mixture(found.variances)],
        record={**provenance(command, _PACKAGES), "seed": 0, "figures": _record(found)},
    )


def plot_theorems(found: Theorems, path: Path) -> None:
    """Draws floors, bias decay and variance factors beside the theory, as PNG.

    Args:
        found: What was measured.
        path: The file.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.8), layout="constrained")
    floor_axes, decay_axes, variance_axes = figure.subplots(1, 3)
    for floor in found.floors:
        floor_axes.loglog(
            floor.values, floor.floors, "o-", label=f"{floor.cause}: {floor.slope:.2f}"
        )
    floor_axes.set(title="Theorem 1: error floor", xlabel="B, gamma or sigma", ylabel="gap")
    for decay in found.decays:
        [line] = decay_axes.loglog(
            decay.steps, decay.distances, "o-", label=f"noise {decay.sigma:g}: {decay.slope:.2f}"
        )
        decay_axes.axhline(decay.limit, color=line.get_color(), linestyle=":")
    decay_axes.set(
        title="Theorem 2: bias (dotted: what stays)", xlabel="steps T", ylabel="squared bias"
    )
    sigmas = [v.sigma for v in found.variances]
    variance_axes.plot(sigmas, [v.expected for v in found.variances], "k--", label="1 + V_WM/V_E")
    variance_axes.plot(sigmas, [v.factor for v in found.variances], "o", label="weighted")
    variance_axes.plot(sigmas, [v.plain for v in found.variances], "s", label="plain mixture")
    variance_axes.set(title="Theorem 2: variance", xlabel="noise sigma", ylabel="factor")
    for axes in (floor_axes, decay_axes, variance_axes):
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _limit(decay: BiasDecay) -> str:
    return (
        f"With noise {decay.sigma:g} in the predictions, debiasing brings the squared bias of the "
        f"gradient from {decay.raw:.2g} to a limit of {decay.limit:.2g}, not to zero: "
        f"E[reward | prediction] is itself biased where predictions are noisy."
    )


def _mixture(found: Sequence[Variance]) -> str:
    last = found[-1]
    return (
        f"At noise {last.sigma:g} the weights divide the variance by {last.factor:.2f}; the plain "
        f"mixture of both streams already divides it by {last.plain:.2f}."
    )


def _record(found: Theorems) -> dict[str, Any]:
    return {
        "floors": [{**asdict(f), "slope": f.slope} for f in found.floors],
        "rate": asdict(found.rate),
        "bias_decay": [{**asdict(d), "slope": d.slope} for d in found.decays],
        "variances": [asdict(v) for v in found.variances],
    }
