"""Evaluation during training: real scores, and what the world model would have said of them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from wmrl_envs.agents.evaluation import Evaluation, evaluate
from wmrl_envs.agents.policies.base import TokenPolicy
from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.setup import conversed, make_envs
from wmrl_envs.wrappers.estimators.correction import Correction
from wmrl_envs.wrappers.world_models.base import Episode, WorldModel

_SEEDS = 900_000_000
"""Reset seeds of evaluations: the same for all arms, apart from those of training and of logs."""
_VALID = 0.5
"""The ladder's reward of a valid submission in the last position."""


class Evaluator:
    """Executes episodes of a policy on the training and on the held-out tasks.

    Its executions are no arm's: they only measure.

    Args:
        config: The run's settings.
        sandbox: Where programs are executed.
    """

    def __init__(self, config: RunConfig, sandbox: Sandbox) -> None:
        self._config = config
        tasks = {"train": config.train_tasks, "test": config.test_tasks}
        # Whole batches for both kinds of evaluation: what fills up a batch executes for nothing.
        at_once = math.gcd(config.eval_episodes, config.final_episodes)
        self.envs: Mapping[str, VectorEnv] = {
            split: conversed(config, make_envs(config, names, at_once, sandbox))
            for split, names in tasks.items()
        }
        self._names = {
            text: task.name
            for names in tasks.values()
            for task in catalog.resolve(list(names))
            for text in (task.card(), task.overview())
        }

    def __call__(
        self,
        policy: TokenPolicy,
        episodes: int,
        world_model: WorldModel | None,
        correction: Correction | None,
    ) -> dict[str, list[dict[str, Any]]]:
        """Plays episodes on both splits.

        Args:
            policy: The policy.
            episodes: Episodes a split.
            world_model: Predicts the same episodes; None: no predictions.
            correction: Corrects the predictions; None: no corrected predictions.

        Returns:
            For each split one record an episode: ``task``, ``reward`` (ladder), ``position``
            (percentile, a failure counts 0), ``status``, ``code`` and, where there are any,
            ``predicted`` and ``corrected``. Ungraded episodes are left out.
        """
        results = {}
        for split, envs in self.envs.items():
            seeds = range(_SEEDS, _SEEDS + episodes)
            played = evaluate(policy, envs, episodes, seeds=seeds, generator_seed=_SEEDS)
            records = [self._record(played, i) for i in range(episodes) if played.graded[i]]
            if world_model is not None and records:
                _predict(records, played, world_model, correction)
            results[split] = records
        return results

    def close(self) -> None:
        """Closes the environments; the sandbox is the caller's."""
        for envs in self.envs.values():
            envs.close()

    def _record(self, played: Evaluation, index: int) -> dict[str, Any]:
        reward = float(played.rewards[index])
        return {
            "task": self._names[played.tasks[index]],
            "reward": reward,
            "position": max(0.0, (reward - _VALID) / (1 - _VALID)),
            "status": str(played.statuses[index]),
            "code": played.actions[index][-1],
        }


def _predict(
    records: list[dict[str, Any]],
    played: Evaluation,
    world_model: WorldModel,
    correction: Correction | None,
) -> None:
    """Adds predictions to the records of the graded episodes."""
    graded = np.flatnonzero(played.graded)
    episodes = [Episode(played.tasks[i], tuple(played.actions[i])) for i in graded]
    predicted = [prediction.reward for prediction in world_model.predict(episodes)]
    for record, value in zip(records, predicted, strict=True):
        if value is not None:
            record["predicted"] = value
            if correction is not None:
                record["corrected"] = float(correction.current.map(np.array([value]))[0])
