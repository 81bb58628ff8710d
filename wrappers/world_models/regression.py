"""A world model that is a regression on an execution log."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode, read_log, write_log
from wmrl_envs.wrappers.world_models.features import ScriptFeatures
from wmrl_envs.wrappers.world_models.gate import compiling_scripts


class RegressionWorldModel:
    """Predicts rewards by gradient boosting on what a linter can see of a script.

    Episodes whose code does not compile are answered 0.0 without the regression, and left out of its
    training (see :mod:`~wmrl_envs.wrappers.world_models.gate`). An episode of several turns is
    answered with the best of its scripts, as AutoResearch rewards it, and teaches with its last one.

    Args:
        low: The smallest reward that it predicts.
        high: The largest reward that it predicts.
        folds: Number of folds of :meth:`out_of_fold`.
        seed: Seed of the boosting and of the folds.

    Raises:
        ValueError: ``low`` is not below ``high``, or there are fewer than two folds.

    Example:
        >>> log = [LoggedEpisode("rows 10", (f"x = {i % 2}",), float(i % 2)) for i in range(40)]
        >>> model = RegressionWorldModel().fit(log)
        >>> [round(p.reward) for p in model.predict([log[0].episode, log[1].episode])]
        [0, 1]
    """

    def __init__(self, low: float = 0.0, high: float = 1.0, folds: int = 5, seed: int = 0) -> None:
        if not low < high:
            raise ValueError(f"low must be below high, got low={low!r}, high={high!r}")
        if folds < 2:
            raise ValueError(f"folds must be at least 2, got {folds!r}")
        self.low, self.high, self.folds, self.seed = float(low), float(high), folds, seed
        self.log: tuple[LoggedEpisode, ...] = ()

    def fit(self, log: Sequence[LoggedEpisode]) -> "RegressionWorldModel":
        """Learns from an execution log, forgetting what it knew.

        Raises:
            ValueError: No episode of the log has code that compiles.
        """
        kept = [logged for logged in log if compiling_scripts(logged.episode)]
        if not kept:
            raise ValueError(f"log must hold an episode whose code compiles, got {len(log)} without")
        self._features, self._regressor = self._fitted(kept)
        self.log = tuple(log)
        return self

    def partial_fit(self, log: Sequence[LoggedEpisode]) -> "RegressionWorldModel":
        """Learns from further executed episodes, keeping what it knew."""
        return self.fit((*self.log, *log))

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order.

        Raises:
            WorldModelError: The model has not been fitted.
        """
        if not self.log:
            raise WorldModelError("RegressionWorldModel must be fitted on an execution log before it predicts")
        return [Prediction(float(r)) for r in self._rewards(episodes, self._features, self._regressor)]

    def out_of_fold(self) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """(predicted, measured, task) of the log, each predicted by a model that did not see it.

        These are the pairs that a correction can start from: in-sample pairs look free of bias.

        Returns:
            Two (M,) float64 arrays and the M task texts, over the log's episodes that compile.

        Raises:
            WorldModelError: The model has not been fitted.
            ValueError: The log has fewer episodes than folds.
        """
        if not self.log:
            raise WorldModelError("RegressionWorldModel must be fitted before out_of_fold")
        kept = [logged for logged in self.log if compiling_scripts(logged.episode)]
        if len(kept) < self.folds:
            raise ValueError(f"folds={self.folds} needs as many episodes that compile, got {len(kept)}")
        fold = np.random.default_rng(self.seed).permutation(len(kept)) % self.folds
        predicted = np.empty(len(kept))
        for k in range(self.folds):
            fitted = self._fitted([kept[i] for i in np.flatnonzero(fold != k)])
            held_out = np.flatnonzero(fold == k)
            predicted[held_out] = self._rewards([kept[i].episode for i in held_out], *fitted)
        return predicted, np.array([e.reward for e in kept]), [e.task for e in kept]

    def save(self, folder: Path | str) -> None:
        """Writes the settings and the log; :meth:`load` refits, so that no pickle is ever read."""
        folder = Path(folder)
        write_log(folder / "execution_log.jsonl", self.log)
        settings = {"low": self.low, "high": self.high, "folds": self.folds, "seed": self.seed}
        (folder / "regression.json").write_text(json.dumps(settings) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> "RegressionWorldModel":
        """Reads what :meth:`save` wrote; the refit gives the same predictions."""
        folder = Path(folder)
        settings = json.loads((folder / "regression.json").read_text(encoding="utf-8"))
        return cls(**settings).fit(read_log(folder / "execution_log.jsonl"))

    def _fitted(self, log: Sequence[LoggedEpisode]) -> tuple[ScriptFeatures, Any]:
        from sklearn.ensemble import HistGradientBoostingRegressor

        pairs = [(logged.task, compiling_scripts(logged.episode)[-1]) for logged in log]
        features = ScriptFeatures().fit(pairs)
        regressor = HistGradientBoostingRegressor(
            max_iter=150,
            learning_rate=0.08,
            max_leaf_nodes=12,
            min_samples_leaf=6,
            l2_regularization=1.0,
            max_features=0.5,
            early_stopping=False,
            random_state=self.seed,
        )
        regressor.fit(features.transform(pairs), [logged.reward for logged in log])
        return features, regressor

    def _rewards(
        self, episodes: Sequence[Episode], features: ScriptFeatures, regressor: Any
    ) -> np.ndarray:
        """(N,) float64: the best prediction among an episode's scripts, 0.0 without one."""
        pairs, owners = [], []
        for i, episode in enumerate(episodes):
            for script in compiling_scripts(episode):
                pairs.append((episode.task, script))
                owners.append(i)
        rewards = np.full(len(episodes), -np.inf)
        if pairs:
            predicted = np.clip(regressor.predict(features.transform(pairs)), self.low, self.high)
            np.maximum.at(rewards, owners, predicted)
        return np.where(np.isneginf(rewards), 0.0, rewards)
