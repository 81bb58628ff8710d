"""One step of the correction beside scikit-learn's isotonic regression alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Samples, interleave, repeated
from wmrl_envs.wrappers.estimators.correction import Correction

__all__ = ["CorrectionSteps", "compare_correction"]

_GROUPS, _GROUP_SIZE, _ANCHORS = 32, 8, 3
_OURS, _PAPER, _FIT = "rectified", "paper", "scikit-learn fit and predict alone"


@dataclass(frozen=True)
class CorrectionSteps:
    """A stream of steps: 32 groups of 8 episodes, 3 groups of them anchors.

    Args:
        pairs: Anchor pairs that are known before the first step.
        seed: Seed of the stream.
    """

    pairs: int
    seed: int = 0

    def batch(self, rng: np.random.Generator, groups: int) -> tuple[np.ndarray, np.ndarray]:
        """Predictions and the rewards behind them, (groups, 8) each."""
        predicted = rng.random((groups, _GROUP_SIZE))
        noise = 0.2 * rng.standard_normal(predicted.shape)
        return predicted, np.clip(predicted**2 + noise, 0.0, 1.0)

    def of(self, correction: Correction) -> Callable[[], None]:
        """One step of a correction that has seen ``pairs`` pairs: update, then correct."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.pairs // _GROUP_SIZE):
            correction.update(list(zip(*self.batch(rng, 1), strict=True)))

        def step() -> None:
            predicted, reward = self.batch(rng, _GROUPS)
            anchors = zip(predicted[:_ANCHORS], reward[:_ANCHORS], strict=True)
            correction.update(list(anchors))
            anchor = np.zeros(predicted.shape, bool)
            anchor[:_ANCHORS] = True
            measured = np.where(anchor, reward, np.nan)
            correction.correct(predicted.ravel(), measured.ravel(), anchor=anchor.ravel())

        return step

    def of_sklearn(self) -> Callable[[], None]:
        """One fit from scratch on the last ``pairs`` pairs, and one prediction for the step."""
        rng = np.random.default_rng(self.seed)
        x, y = (part.ravel() for part in self.batch(rng, -(-self.pairs // _GROUP_SIZE)))

        def step() -> None:
            nonlocal x, y
            predicted, reward = self.batch(rng, _GROUPS)
            x = np.r_[x, predicted[:_ANCHORS].ravel()][-self.pairs :]
            y = np.r_[y, reward[:_ANCHORS].ravel()][-self.pairs :]
            IsotonicRegression(out_of_bounds="clip").fit(x, y).predict(predicted.ravel())

        return step


def compare_correction(
    pairs: Sequence[int], rounds: int, steps: int, command: Sequence[str]
) -> Comparison:
    """Measures a step of each method and of scikit-learn with 1 to many pairs known.

    Args:
        pairs: Numbers of known pairs; the correction keeps at most 3,000.
        rounds: Interleaved rounds.
        steps: Steps a round.
        command: The arguments after ``wmrl``, for the record.
    """
    found = {n: _measure(n, rounds, steps) for n in pairs}
    rows = [
        (n, name, 1e3 * samples.cpu_per_unit, _ratio(by_name, name))
        for n, by_name in found.items()
        for name, samples in by_name.items()
    ]
    return Comparison(
        title="A correction step of 32 groups of 8, 3 of them anchors",
        columns=("known pairs", "what", "CPU ms a step", "of scikit-learn's"),
        rows=rows,
        findings=[_finding(max(pairs), found[max(pairs)])],
        record={**provenance(command), "rounds": rounds, "figures": _figures(found)},
    )


def _measure(pairs: int, rounds: int, steps: int) -> dict[str, Samples]:
    stream = CorrectionSteps(pairs)
    calls = {
        _OURS: stream.of(Correction("rectified")),
        _PAPER: stream.of(Correction("paper")),
        _FIT: stream.of_sklearn(),
    }
    return interleave({name: repeated(call, steps) for name, call in calls.items()}, rounds)


def _ratio(samples: dict[str, Samples], name: str) -> float:
    return samples[name].cpu_per_unit / samples[_FIT].cpu_per_unit


def _finding(pairs: int, samples: dict[str, Samples]) -> str:
    return (
        f"With {pairs:,} pairs a whole step of the correction takes "
        f"{_ratio(samples, _OURS):.2f} (rectified) and {_ratio(samples, _PAPER):.2f} (paper) of "
        "the CPU time of one scikit-learn fit and prediction."
    )


def _figures(found: dict[int, dict[str, Samples]]) -> dict[str, Any]:
    return {
        str(pairs): {name: samples.record() for name, samples in by_name.items()}
        for pairs, by_name in found.items()
    }
