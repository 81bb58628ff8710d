"""``wmrl bench ablation`` as a table, sentences and a plot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.benchmarks.evidence.ablation import ARMS, Outcome, run_arm
from wmrl_envs.benchmarks.evidence.bandit import SCENARIOS
from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.throughput.report import Comparison

__all__ = ["Difference", "ablation_comparison", "difference", "plot_ablation", "run_ablation"]

_ORDER = ("neither", "denoise", "debias", "both")

Outcomes = Mapping[str, Mapping[str, Outcome]]
"""Scenario to arm to outcome."""


@dataclass(frozen=True)
class Difference:
    """A paired difference of final scores over the same seeds."""

    mean: float
    standard_error: float
    wins: int
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.standard_error:.4f} ({self.wins}/{self.seeds} seeds)"


def run_ablation(
    scenarios: Sequence[str],
    seeds: Sequence[int],
    on_arm: Callable[[str, str], None] = lambda scenario, arm: None,
) -> dict[str, dict[str, Outcome]]:
    """Runs every arm in every scenario.

    Args:
        scenarios: Names among :data:`~wmrl_envs.benchmarks.evidence.bandit.SCENARIOS`.
        seeds: One independent run each, the same ones for all arms.
        on_arm: Told the scenario and the arm that come next.
    """
    found: dict[str, dict[str, Outcome]] = {}
    for scenario in scenarios:
        for name, arm in ARMS.items():
            on_arm(scenario, name)
            outcome = run_arm(SCENARIOS[scenario], arm, seeds)
            found.setdefault(scenario, {})[name] = outcome
    return found


def difference(better: Outcome, worse: Outcome) -> Difference:
    """How much higher the first arm ends, seed by seed."""
    gains = better.final - worse.final
    error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else float("nan")
    return Difference(float(gains.mean()), error, int((gains > 0).sum()), len(gains))


def ablation_comparison(
    found: Outcomes, seeds: Sequence[int], command: Sequence[str]
) -> Comparison:
    """The table: final scores of each arm in each scenario, with their standard errors."""
    rows = [
        (name, first.executions, *(_cell(found[scenario][name]) for scenario in found))
        for name, first in found[next(iter(found))].items()
    ]
    return Comparison(
        title=f"Simulated bandit: held-out score, mean ± standard error over {len(seeds)} seeds",
        columns=("arm", "executions", *found),
        rows=rows,
        findings=[f"{name}: {s}" for name, arms in found.items() for s in _findings(arms)],
        record={
            **provenance(command, ("wmrl-envs", "numpy", "scikit-learn", "scipy")),
            "seeds": list(seeds),
            "figures": _record(found),
        },
    )


def plot_ablation(found: Outcomes, path: Path) -> None:
    """Draws the learning curves of some arms, one panel a scenario, as PNG.

    Args:
        found: What was run.
        path: The file.
    """
    from matplotlib.figure import Figure

    shown = ("real", "real, a tenth", "world model", "paper: neither", "paper: both", "rectified")
    figure = Figure(figsize=(4.2 * len(found), 3.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(found), sharey=True))
    for axes, (scenario, arms) in zip(panels, found.items(), strict=True):
        for name in shown:
            curve = arms[name].curve.mean(1)
            axes.plot(8 * np.arange(len(curve)), curve, label=name)
        axes.set(title=scenario, xlabel="step")
    panels[0].set_ylabel("held-out score")
    panels[-1].legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _cell(outcome: Outcome) -> str:
    scores = outcome.final
    error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else float("nan")
    return f"{scores.mean():.4f} ± {error:.4f}"


def _findings(arms: Mapping[str, Outcome]) -> list[str]:
    share = arms["rectified"].final.mean() / arms["real"].final.mean()
    return [
        *(_order(method, arms) for method in ("reference", "paper")),
        f"rectified against both corrections of the paper: "
        f"{difference(arms['rectified'], arms['paper: both'])}; against the authors' constants: "
        f"{difference(arms['rectified'], arms['reference: both'])}.",
        f"rectified ends at {100 * share:.1f} % of real execution with a tenth of its executions; "
        f"against a tenth of the executions alone: "
        f"{difference(arms['rectified'], arms['real, a tenth'])}.",
    ]


def _order(method: str, arms: Mapping[str, Outcome]) -> str:
    """Does each correction help, and both more than one?"""
    steps = [
        (better, difference(arms[f"{method}: {better}"], arms[f"{method}: {worse}"]))
        for worse, better in pairwise(_ORDER)
    ]
    holds = all(step.mean > 0 for _, step in steps)
    verdict = "holds" if holds else "does NOT hold"
    detail = ", ".join(f"{name} {step}" for name, step in steps)
    return f"the order neither < denoise < debias < both of {method} {verdict}: {detail}."


def _record(found: Outcomes) -> dict[str, Any]:
    return {
        scenario: {
            name: {
                "executions": outcome.executions,
                "final": outcome.final.round(5).tolist(),
                "area": outcome.area.round(5).tolist(),
            }
            for name, outcome in arms.items()
        }
        for scenario, arms in found.items()
    }
