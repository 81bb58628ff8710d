"""The two theorems of WMRL (arXiv 2608.12564, section 4), checked with numbers.

Theorem 1: trained on raw predictions, the error floor grows as B^2 with the bias and as
gamma sigma^2 with learning rate and noise. Theorem 2: Online Debiasing divides the bias term by
1 + T/T0, Inverse-Variance Denoising the variance term by 1 + V_WM/V_E.

What decays under debiasing is the distance to E[r | prediction], and that limit keeps a bias of its
own where predictions are noisy: it is measured and reported beside the decay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

from wmrl_envs.benchmarks.evidence.quadratic import (
    CURVATURE,
    GROUP_SIZE,
    Batch,
    Score,
    descend,
    draw,
    estimate,
    gap,
    saturating,
)

__all__ = ["BiasDecay", "Floor", "Rate", "Variance", "bias_decay", "floors", "rate", "variances"]

_BIAS = 0.8
_ANCHOR_PAIRS = 3.2 * GROUP_SIZE
"""Pairs a step: a tenth of 32 groups."""
_CHUNK = 4000
"""Repeats drawn at once, which bounds the memory."""


@dataclass(frozen=True)
class Floor:
    """An error floor as a power of one cause.

    Attributes:
        cause: What was varied.
        expected: The exponent that the theorem gives.
        values: The values of the cause.
        floors: The floor at each, above that without the cause.
    """

    cause: str
    expected: float
    values: tuple[float, ...]
    floors: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The measured exponent."""
        return log_slope(self.values, self.floors)


@dataclass(frozen=True)
class Rate:
    """The transient: the factor by which the gap falls in a step, and the theorem's bound on it."""

    measured: float
    bound: float
    stays_below: bool


@dataclass(frozen=True)
class BiasDecay:
    """Squared gradient bias under Online Debiasing after T steps of anchors.

    Attributes:
        sigma: Noise of the predictions.
        raw: Squared bias without debiasing.
        limit: Squared bias of E[r | prediction], what is left after infinitely many anchors.
        steps: T.
        distances: Squared distance to the limit's gradient at each T.
    """

    sigma: float
    raw: float
    limit: float
    steps: tuple[int, ...]
    distances: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The measured exponent of T; the theorem's 1 / (1 + T/T0) tends to -1."""
        return log_slope(self.steps, self.distances)


@dataclass(frozen=True)
class Variance:
    """Variance of the fused gradient at one noise.

    Attributes:
        sigma: Noise of the predictions.
        factor: V_WM over the variance of the fused gradient.
        expected: 1 + V_WM / V_E.
        plain: V_WM over the variance of the unweighted mixture.
    """

    sigma: float
    factor: float
    expected: float
    plain: float


def log_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent of a power law through the points."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def floors(runs: int) -> list[Floor]:
    """Theorem 1's error floors against B, gamma and sigma, each over ``runs`` independent runs."""
    return [
        _against_bias((0.02, 0.04, 0.08), runs),
        _against_rate((0.05, 0.1, 0.2, 0.4), runs),
        _against_noise((0.5, 1.0, 2.0, 4.0), runs),
    ]


def rate(runs: int) -> Rate:
    """Theorem 1's transient (1 - gamma mu / 4)^T, from far away, with bias and noise."""
    learning_rate, start = 0.1, 3.0
    gaps = descend(_told(bias=0.2, sigma=1.0), learning_rate, 200, runs=runs, start=start)
    bound = 1.0 - learning_rate * CURVATURE / 4.0
    first = float(gap(np.full(2, start)))
    ceiling = bound ** np.arange(1, 201) * first + _tail(gaps)
    measured = float((gaps[60] / gaps[10]) ** (1 / 50))
    return Rate(measured, bound, bool((gaps <= ceiling).all()))


def bias_decay(sigma: float, steps: Sequence[int], repeats: int) -> BiasDecay:
    """Theorem 2's bias term at the optimum, for predictions r + B psi(r) + noise.

    Args:
        sigma: Noise of the predictions.
        steps: Numbers of training steps whose anchors the map has seen.
        repeats: Independent draws of the anchors at each.
    """
    far = _Population(sigma)
    limit = far.gradient(far.expected)
    return BiasDecay(
        sigma=sigma,
        raw=_squared(far.gradient(far.predictions) - far.truth),
        limit=_squared(limit - far.truth),
        steps=tuple(steps),
        distances=tuple(
            float(np.mean([_squared(far.debiased(t, seed) - limit) for seed in range(repeats)]))
            for t in steps
        ),
    )


def variances(sigmas: Sequence[float], repeats: int) -> list[Variance]:
    """Theorem 2's variance term: 3 anchor groups fused with 29 predicted ones, no bias."""
    return [_variance(sigma, repeats) for sigma in sigmas]


def _told(bias: float = 0.0, sigma: float = 0.0) -> Score:
    """The scores of a world model with a bias along one feature of the action, and noise."""

    def score(batch: Batch, rng: np.random.Generator) -> np.ndarray:
        noise = sigma * rng.standard_normal(batch.rewards.shape) if sigma else 0.0
        found: np.ndarray = batch.rewards + bias * np.tanh(batch.actions[..., 1]) + noise
        return found

    return score


def _tail(gaps: np.ndarray) -> float:
    return float(gaps[len(gaps) // 2 :].mean())


def _against_bias(values: tuple[float, ...], runs: int) -> Floor:
    base = _tail(descend(_told(), 0.1, 400, runs=runs))
    found = [_tail(descend(_told(bias=b), 0.1, 400, runs=runs)) - base for b in values]
    return Floor("bias B", 2.0, values, tuple(found))


def _against_rate(values: tuple[float, ...], runs: int) -> Floor:
    # A slower learner needs more steps to reach its floor, and as many more to average it.
    found = [_tail(descend(_told(sigma=1.0), g, int(60 / g), runs=runs)) for g in values]
    return Floor("learning rate gamma", 1.0, values, tuple(found))


def _against_noise(values: tuple[float, ...], runs: int) -> Floor:
    base = _tail(descend(_told(), 0.1, 600, runs=runs))
    found = [_tail(descend(_told(sigma=s), 0.1, 600, runs=runs)) - base for s in values]
    return Floor("noise sigma", 2.0, values, tuple(found))


class _Population:
    """So many rollouts at the optimum that their means stand for expectations."""

    def __init__(self, sigma: float, groups: int = 25_000) -> None:
        self._sigma = sigma
        self._batch, self.predictions = self._draw(groups, seed=5)
        self.truth = self.gradient(self._batch.rewards)
        self.expected = self._map(self._batch.rewards, self.predictions)

    def gradient(self, scores: np.ndarray) -> np.ndarray:
        return estimate(self._batch, scores)[0]

    def debiased(self, steps: int, seed: int) -> np.ndarray:
        """The gradient under a map fitted on the anchors of so many steps."""
        batch, predictions = self._draw(int(steps * _ANCHOR_PAIRS) // GROUP_SIZE, 100 + seed)
        return self.gradient(self._map(batch.rewards, predictions))

    def _draw(self, groups: int, seed: int) -> tuple[Batch, np.ndarray]:
        rng = np.random.default_rng(seed)
        batch = draw(np.zeros((1, 2)), rng, groups)
        noise = self._sigma * rng.standard_normal(batch.rewards.shape)
        return batch, saturating(batch.rewards, _BIAS) + noise

    def _map(self, rewards: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """The isotonic map of the pairs, applied to the population's predictions."""
        isotonic = IsotonicRegression(out_of_bounds="clip").fit(
            predictions.ravel(), rewards.ravel()
        )
        mapped: np.ndarray = isotonic.predict(self.predictions.ravel())
        return mapped.reshape(self.predictions.shape)


def _variance(sigma: float, repeats: int) -> Variance:
    rng = np.random.default_rng(11)
    parts = [_two_streams(sigma, _CHUNK, rng) for _ in range(-(-repeats // _CHUNK))]
    anchor, world_model = (np.concatenate(stream) for stream in zip(*parts, strict=True))
    v_e, v_wm = (float(g.var(0).sum()) for g in (anchor, world_model))
    share = v_wm / (v_e + v_wm)
    fused = (share * anchor + (1 - share) * world_model).var(0).sum()
    plain = ((3 * anchor + 29 * world_model) / 32).var(0).sum()
    return Variance(sigma, float(v_wm / fused), 1 + v_wm / v_e, float(v_wm / plain))


def _two_streams(
    sigma: float, repeats: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of 3 measured groups and of 29 predicted ones, (repeats, 2) each."""
    theta = np.full((repeats, 2), 0.5)
    measured, predicted = draw(theta, rng, 3), draw(theta, rng, 29)
    noise = sigma * rng.standard_normal(predicted.rewards.shape)
    return (
        estimate(measured, measured.rewards),
        estimate(predicted, predicted.rewards + noise),
    )


def _squared(difference: np.ndarray) -> float:
    return float((difference**2).sum())
