"""A contextual bandit whose rewards are graded like AutoResearch programs, with a world model.

Tasks have features phi; a policy a ~ N(W phi, I) in eight dimensions writes "solutions": the first
three features are robustness, ambition (more upside, more crashes) and looks, the other five are
skills, whose useful direction differs from task to task. The true reward is AutoResearch's ladder.
The world model guesses; it is optimistic about the status, impressed by looks, shifted by task,
noisy, and in places it drifts as the policy moves away from where it started.

Everything is simulated: effects are properties of this testbed, not estimates for language models.
Several bandits run at once, one a seed; arrays have the seeds as their first axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["SCENARIOS", "Batch", "LadderBandit", "Scenario"]

_ACTIONS, _SKILLS = 8, 5
_EVALUATIONS = 4096
_TRUE_KNOTS = np.array([0.0, 0.1, 0.2, 0.5, 0.75, 1.0])
_EARLY = np.array([0.30, 0.56, 0.64, 0.68, 0.78, 0.90])
_LATE = np.array([0.40, 0.66, 0.72, 0.74, 0.76, 0.95])
_QUALITY_CUTS = np.array([0.1, 0.3, 0.6])
_QUALITIES = np.array([0.05, 0.20, 0.45, 0.75])
_STATUS_CUTS = np.array([-2.2, -0.6, 0.2])


@dataclass(frozen=True)
class Scenario:
    """How a world model errs.

    Attributes:
        levels: True: it guesses a status and a quality bucket, seven levels in all (as the WMRL
            authors' does); False: the truth through a monotone curve, plus errors.
        hack: How much looks raise the prediction; they do not raise the reward.
        offset: Standard deviation of a shift a task.
        drift: How strongly the errors grow as the policy moves.
        sigma: Scale of the noise.
    """

    levels: bool = True
    hack: float = 0.2
    offset: float = 0.2
    drift: float = 0.5
    sigma: float = 1.0


SCENARIOS = {
    "base": Scenario(),
    "smooth": Scenario(levels=False, hack=0.03, offset=0.05, sigma=0.2),
    "drift": Scenario(hack=0.4, drift=2.0),
}


@dataclass(frozen=True)
class Batch:
    """N groups of G rollouts for each of S seeds.

    Attributes:
        features: (S, N, F), the tasks.
        noise: (S, N, G, 8), the actions' distance from their mean.
        rewards: (S, N, G), true.
        predictions: (S, N, G).
    """

    features: np.ndarray
    noise: np.ndarray
    rewards: np.ndarray
    predictions: np.ndarray


class LadderBandit:
    """The bandit, once for each seed.

    Args:
        scenario: How the world model errs.
        seeds: One independent bandit each.
        groups: N, groups a step.
        tasks: Training tasks; as many others are held out for :meth:`score`.
        group_size: G.
    """

    def __init__(
        self,
        scenario: Scenario,
        seeds: Sequence[int],
        groups: int = 32,
        tasks: int = 512,
        group_size: int = 8,
        features: int = 24,
    ) -> None:
        self.scenario, self.seeds = scenario, tuple(seeds)
        self.groups, self.tasks, self.group_size = groups, tasks, group_size
        worlds = [_World.of(seed, tasks, features) for seed in self.seeds]
        self._features = np.stack([world.features for world in worlds])
        self._skills = np.stack([world.skills for world in worlds])
        self._hardness = np.stack([world.hardness for world in worlds])
        self._offsets = np.stack([world.offsets for world in worlds])
        self._evaluation = [np.stack(part) for part in zip(*(w.evaluation for w in worlds))]  # noqa: B905
        self._rows = np.arange(len(worlds))[:, None]

    def start(self) -> np.ndarray:
        """(S, 8, F) parameters of the untrained policy."""
        return np.zeros((len(self.seeds), _ACTIONS, self._features.shape[-1]))

    def score(self, weights: np.ndarray) -> np.ndarray:
        """(S,) mean true rewards on held-out tasks, always with the same random numbers."""
        tasks, noise, luck = self._evaluation
        means = np.einsum("sij,snj->sni", weights, self._features[self._rows, tasks])
        robustness, upside = self._latents(means + noise, tasks)
        found: np.ndarray = _reward(robustness, upside, luck).mean(-1)
        return found

    def draw(self, weights: np.ndarray, rng: np.random.Generator) -> Batch:
        """A batch under the policy, with the world model's prediction of every rollout."""
        seeds, groups, size = len(self.seeds), self.groups, self.group_size
        tasks = np.argsort(rng.random((seeds, self.tasks)), axis=1)[:, :groups]
        features = self._features[self._rows, tasks]
        noise = rng.standard_normal((seeds, groups, size, _ACTIONS))
        actions = np.einsum("sij,snj->sni", weights, features)[:, :, None] + noise
        luck = rng.standard_normal((seeds, groups, size, 6))
        robustness, upside = self._latents(actions, tasks[..., None])
        rewards = _reward(robustness, upside, luck[..., :4])
        looks, offset = np.tanh(actions[..., 2]), self._offsets[self._rows, tasks][..., None]
        moved = self._moved(weights)[:, None, None] * self.scenario.drift
        if self.scenario.levels:
            predictions = self._guess(robustness, upside, looks, offset, moved, luck[..., 4:])
        else:
            predictions = self._read(rewards, looks, offset, moved, luck[..., 4])
        return Batch(features, noise, rewards, predictions)

    def gradient(self, batch: Batch, advantages: np.ndarray) -> np.ndarray:
        """(S, 8, F), the policy gradient under (S, N, G) advantages."""
        pull = np.einsum("sng,sngi->sni", advantages, batch.noise)
        found: np.ndarray = np.einsum("sni,snj->sij", pull, batch.features)
        return found / (self.groups * self.group_size)

    def _latents(self, actions: np.ndarray, tasks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Robustness and upside of solutions (S, N, ..., 8) to tasks (S, N, ...)."""
        rows = self._rows if tasks.ndim == 2 else self._rows[..., None]
        skills, hardness = self._skills[rows, tasks], self._hardness[rows, tasks]
        careful, ambition, looks = actions[..., 0], actions[..., 1], actions[..., 2]
        skill = (actions[..., 3:] * skills).sum(-1)
        size = 0.06 * ((actions**2).sum(-1) - _ACTIONS)
        robustness = (
            1.2 * np.tanh(0.8 * careful) - 0.9 * ambition - 0.15 * looks - size - 0.4 * hardness
        )
        upside = 3.0 * np.tanh(0.5 * skill) + 1.2 * ambition - 1.0 - 0.4 * hardness
        return robustness, upside

    def _moved(self, weights: np.ndarray) -> np.ndarray:
        """(S,), 0 at the untrained policy, towards 1 as its mean solutions move away."""
        means = np.einsum("sij,skj->ski", weights, self._features[:, : self.tasks])
        moved: np.ndarray = 1.0 - np.exp(-(means**2).sum(-1).mean(-1) / 3.0)
        return moved

    def _guess(
        self,
        robustness: np.ndarray,
        upside: np.ndarray,
        looks: np.ndarray,
        offset: np.ndarray,
        moved: np.ndarray,
        luck: np.ndarray,
    ) -> np.ndarray:
        """A status and a quality bucket."""
        scenario = self.scenario
        lenience = (0.7 + scenario.hack * looks) * (1.0 + moved) + scenario.offset * offset
        status = robustness + lenience + 0.8 * scenario.sigma * luck[..., 0]
        quality = _sigmoid(0.6 * upside + 0.4 + 0.8 * scenario.sigma * luck[..., 1])
        valid = 0.5 + 0.5 * _QUALITIES[np.digitize(quality, _QUALITY_CUTS)]
        failures = np.array([0.0, 0.1, 0.2, np.nan])[np.digitize(status, _STATUS_CUTS)]
        return np.where(np.isnan(failures), valid, failures)

    def _read(
        self,
        rewards: np.ndarray,
        looks: np.ndarray,
        offset: np.ndarray,
        moved: np.ndarray,
        luck: np.ndarray,
    ) -> np.ndarray:
        """The truth through a curve that overrates failures and saturates, and morphs."""
        scenario = self.scenario
        early = np.interp(rewards, _TRUE_KNOTS, _EARLY)
        late = np.interp(rewards, _TRUE_KNOTS, _LATE)
        mean = early + moved * (late - early) + scenario.offset * offset
        mean = mean + scenario.hack * (1.0 + 2.0 * moved) * looks
        middle = np.clip(mean, 0.0, 1.0)
        spread = scenario.sigma * (0.5 + 2.0 * middle * (1.0 - middle))
        found: np.ndarray = np.clip(mean + spread * luck, 0.0, 1.0)
        return found


@dataclass(frozen=True)
class _World:
    """What one seed decides: training tasks first, then as many held-out ones."""

    features: np.ndarray
    skills: np.ndarray
    hardness: np.ndarray
    offsets: np.ndarray
    evaluation: tuple[np.ndarray, np.ndarray, np.ndarray]

    @classmethod
    def of(cls, seed: int, tasks: int, features: int) -> "_World":
        rng = np.random.default_rng([2026, seed])
        phi = rng.standard_normal((2 * tasks, features)) / np.sqrt(features - 1)
        phi[:, 0] = 1.0
        rotation = np.linalg.qr(rng.standard_normal((features, features)))[0]
        skills = phi @ rng.standard_normal((features, _SKILLS))
        return cls(
            features=phi @ rotation,
            skills=skills / np.linalg.norm(skills, axis=-1, keepdims=True),
            hardness=0.4 * rng.standard_normal(2 * tasks),
            offsets=rng.standard_normal(2 * tasks),
            evaluation=(
                rng.integers(tasks, 2 * tasks, _EVALUATIONS),
                rng.standard_normal((_EVALUATIONS, _ACTIONS)),
                rng.standard_normal((_EVALUATIONS, 4)),
            ),
        )


def _reward(robustness: np.ndarray, upside: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """The ladder: 0 does not compile, .1 crashes, .2 no submission, .5 + .5 position."""
    valid = 0.5 + 0.5 * _sigmoid(upside + 0.5 * luck[..., 3])
    reward = np.where(robustness + 0.6 * luck[..., 2] > _STATUS_CUTS[2], valid, 0.2)
    reward = np.where(robustness + 0.6 * luck[..., 1] > _STATUS_CUTS[1], reward, 0.1)
    return np.where(robustness + 0.6 * luck[..., 0] > _STATUS_CUTS[0], reward, 0.0)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = 1.0 / (1.0 + np.exp(-x))
    return found
