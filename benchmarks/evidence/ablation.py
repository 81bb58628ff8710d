"""Every arm of WMRL on the simulated bandit: which correction pays, where, and where not."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wmrl_envs.agents.advantages import Scale
from wmrl_envs.agents.corrected import corrected_advantages
from wmrl_envs.benchmarks.evidence.bandit import Batch, LadderBandit, Scenario
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.estimators.correction import Correction, Method

__all__ = ["ARMS", "Arm", "Outcome", "run_arm"]

_FRACTION = 0.1
_EVERY = 8
_DECAY, _SECOND_DECAY = 0.9, 0.98


@dataclass(frozen=True)
class Arm:
    """How rewards become advantages.

    Attributes:
        fraction: The share of groups that are measured.
        predicted: Whether the other groups take part, by their predictions.
        method: The correction's method; None is no correction.
        debias: Online Debiasing.
        denoise: Inverse-Variance Denoising.
        scale: The advantages' divisor.
    """

    fraction: float = _FRACTION
    predicted: bool = True
    method: Method | None = None
    debias: bool = True
    denoise: bool = True
    scale: Scale = "batch"

    def correction(self) -> Correction:
        """A correction that has seen nothing; without a method it changes nothing."""
        plain = self.method is None
        return Correction(
            self.method or "paper",
            debias=self.debias and not plain,
            denoise=self.denoise and not plain,
            fraction=self.fraction,
        )


def _ablation(method: Method, scale: Scale) -> Iterator[tuple[str, Arm]]:
    """Both corrections on and off."""
    yield f"{method}: neither", Arm(scale=scale)
    yield f"{method}: denoise", Arm(method=method, debias=False, scale=scale)
    yield f"{method}: debias", Arm(method=method, denoise=False, scale=scale)
    yield f"{method}: both", Arm(method=method, scale=scale)


ARMS: Mapping[str, Arm] = {
    "real": Arm(fraction=1.0),
    "real, a tenth": Arm(predicted=False),
    "world model": Arm(fraction=0.0),
    **dict(_ablation("reference", "group")),
    **dict(_ablation("paper", "batch")),
    "rectified": Arm(method="rectified"),
}
"""The arms; "reference" is the authors' constants with the group's standard deviation."""


@dataclass(frozen=True)
class Outcome:
    """One arm's runs.

    Attributes:
        curve: (points, S) held-out scores, every eighth step and at the end.
        executions: Rollouts that were measured, of one seed.
    """

    curve: np.ndarray
    executions: int

    @property
    def final(self) -> np.ndarray:
        """(S,) scores, the mean of the last three points."""
        found: np.ndarray = self.curve[-3:].mean(0)
        return found

    @property
    def area(self) -> np.ndarray:
        """(S,) mean scores over the run."""
        found: np.ndarray = self.curve.mean(0)
        return found


def run_arm(
    scenario: Scenario, arm: Arm, seeds: Sequence[int], steps: int = 160, rate: float = 0.01
) -> Outcome:
    """Trains with Adam; arms with the same seeds meet the same tasks and the same luck.

    Args:
        scenario: How the world model errs.
        arm: How rewards become advantages.
        seeds: One independent run each.
        steps: Updates.
        rate: Adam's learning rate.
    """
    bandit = LadderBandit(scenario, seeds)
    rng = np.random.default_rng([7, *bandit.seeds])
    learner = _Learner(arm, bandit)
    weights, curve = bandit.start(), []
    step_of = _adam(rate)
    for step in range(steps):
        if step % _EVERY == 0:
            curve.append(bandit.score(weights))
        batch = bandit.draw(weights, rng)
        weights = weights + step_of(bandit.gradient(batch, learner.advantages(batch, step)))
    curve.append(bandit.score(weights))
    return Outcome(np.array(curve), learner.executions)


class _Learner:
    """The reward path of every seed."""

    def __init__(self, arm: Arm, bandit: LadderBandit) -> None:
        self._arm = arm
        self._draws = [AnchorDraw(arm.fraction, seed) for seed in bandit.seeds]
        self._corrections = [arm.correction() for _ in bandit.seeds]
        self.executions = 0

    def advantages(self, batch: Batch, step: int) -> np.ndarray:
        """(S, N, G)."""
        groups = step * batch.rewards.shape[1] + np.arange(batch.rewards.shape[1])
        anchors = [draw(groups) for draw in self._draws]
        self.executions += int(anchors[0].sum()) * batch.rewards.shape[2]
        rows = zip(self._corrections, batch.predictions, batch.rewards, anchors, strict=True)
        return np.stack([self._of_seed(groups, *row) for row in rows])

    def _of_seed(
        self,
        groups: np.ndarray,
        correction: Correction,
        predictions: np.ndarray,
        rewards: np.ndarray,
        anchors: np.ndarray,
    ) -> np.ndarray:
        anchor = anchors.repeat(rewards.shape[1])
        known = self._arm.predicted & (self._arm.fraction < 1.0)
        found = corrected_advantages(
            correction,
            predictions.ravel() if known else np.full(rewards.size, np.nan),
            np.where(anchor, rewards.ravel(), np.nan),
            anchor,
            groups.repeat(rewards.shape[1]),
            scale=self._arm.scale,
        )
        return found.advantages.reshape(rewards.shape)


def _adam(rate: float) -> Callable[[np.ndarray], np.ndarray]:
    first = second = np.zeros(())
    count = 0

    def step(gradient: np.ndarray) -> np.ndarray:
        nonlocal first, second, count
        count += 1
        first = _DECAY * first + (1 - _DECAY) * gradient
        second = _SECOND_DECAY * second + (1 - _SECOND_DECAY) * gradient**2
        unbiased = first / (1 - _DECAY**count), second / (1 - _SECOND_DECAY**count)
        found: np.ndarray = rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
        return found

    return step
