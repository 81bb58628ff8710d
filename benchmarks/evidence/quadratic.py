"""A problem on which GRPO's error is known exactly: a quadratic objective in two contexts.

A hard and an easy context have their optima on opposite sides of theta* = 0; the policy is
a ~ N(theta, tau^2 I) and the reward is level_x - kappa |a - c_x|^2 / 2, so that
J(theta) = const - kappa |theta|^2 / 2: smooth, and Polyak-Lojasiewicz with mu = L = kappa. The
gradient is the genuine estimator of GRPO: groups of G rollouts, rewards centred in the group.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["CURVATURE", "GROUP_SIZE", "Batch", "descend", "draw", "estimate", "gap", "saturating"]

GROUP_SIZE = 8
CURVATURE = 0.3
_TAU = 0.5
_OPTIMA = np.array([[1.0, 0.0], [-1.0, 0.0]])
_LEVELS = np.array([0.6, 1.2])

Score = Callable[["Batch", np.random.Generator], np.ndarray]
"""What a learner is told of a batch: (R, n, G) scores in place of rewards."""


@dataclass(frozen=True)
class Batch:
    """n groups of G rollouts in each of R independent runs.

    Attributes:
        actions: (R, n, G, 2).
        scores_of_log: (R, n, G, 2), the gradient of log pi at each action.
        rewards: (R, n, G), the true rewards.
    """

    actions: np.ndarray
    scores_of_log: np.ndarray
    rewards: np.ndarray


def draw(theta: np.ndarray, rng: np.random.Generator, groups: int) -> Batch:
    """Draws rollouts at (R, 2) parameters; a group shares its context."""
    context = rng.integers(0, 2, (len(theta), groups, 1)).repeat(GROUP_SIZE, 2)
    noise = rng.standard_normal((len(theta), groups, GROUP_SIZE, 2))
    actions = theta[:, None, None] + _TAU * noise
    distance = ((actions - _OPTIMA[context]) ** 2).sum(-1)
    return Batch(actions, noise / _TAU, _LEVELS[context] - 0.5 * CURVATURE * distance)


def estimate(batch: Batch, scores: np.ndarray) -> np.ndarray:
    """GRPO's gradient from (R, n, G) scores; G - 1 makes it unbiased. Returns (R, 2)."""
    centred = scores - scores.mean(-1, keepdims=True)
    pull = np.einsum("rngd,rng->rd", batch.scores_of_log, centred)
    gradient: np.ndarray = pull / (scores.shape[1] * (GROUP_SIZE - 1))
    return gradient


def gap(theta: np.ndarray) -> np.ndarray:
    """J* - J at (..., 2) parameters."""
    found: np.ndarray = 0.5 * CURVATURE * (theta**2).sum(-1)
    return found


def saturating(rewards: np.ndarray, magnitude: float) -> np.ndarray:
    """A monotone, non-affine bias of at most half the magnitude; it flattens the easy context."""
    found: np.ndarray = rewards + magnitude * 0.5 * np.sin(2.0 * rewards)
    return found


def descend(
    score: Score, rate: float, steps: int, *, runs: int = 24, start: float = 0.0, groups: int = 32
) -> np.ndarray:
    """Follows the gradient of the scores and returns the mean gap after each step, (steps,)."""
    rng = np.random.default_rng(0)
    theta = np.full((runs, 2), start)
    gaps = np.empty(steps)
    for step in range(steps):
        batch = draw(theta, rng, groups)
        theta = theta + rate * estimate(batch, score(batch, rng))
        gaps[step] = gap(theta).mean()
    return gaps
