"""A world model that is a regression on an execution log."""

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models import regression_files as saved
from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode
from wmrl_envs.wrappers.world_models.features import ScriptFeatures
from wmrl_envs.wrappers.world_models.forest import StackedForest
from wmrl_envs.wrappers.world_models.gate import compiling_scripts, never_compiles


class RegressionWorldModel:
    """Predicts rewards by gradient boosting on what a linter can see of a script.

    Texts that do not compile are answered 0.0 without the regression, and left out of its training
    (see :mod:`~wmrl_envs.wrappers.world_models.gate`). An episode of several turns is answered with
    the best of its scripts, as AutoResearch rewards it, and teaches with its last. On episodes
    without a script, those of other environments for one, it has no opinion.

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
            raise ValueError(
                f"log must hold an episode whose code compiles, got {len(log)} without"
            )
        self._features, self._regressor = self._fitted(kept)
        self.log = tuple(log)
        return self

    def partial_fit(self, log: Sequence[LoggedEpisode]) -> "RegressionWorldModel":
        """Learns from further executed episodes, such as anchors, keeping what it knew.

        Equal to :meth:`fit` on all episodes so far in the order in which they came. It is a whole
        refit, which takes seconds for a log of hundreds.

        Raises:
            ValueError: No episode so far has code that compiles.
        """
        return self.fit((*self.log, *log))

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order.

        Raises:
            WorldModelError: The model has not been fitted.
        """
        self._check_fitted("predict")
        rewards = self._rewards(episodes, self._features, self._regressor)
        return [
            Prediction(_unread_reward(episode) if np.isnan(reward) else float(reward))
            for episode, reward in zip(episodes, rewards, strict=True)
        ]

    def out_of_fold(self) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """(predicted, measured, task) of the log, each predicted by a model that did not see it.

        These are the pairs that a correction can start from: in-sample pairs look free of bias.

        Returns:
            Two (M,) float64 arrays and the M task texts, over the log's episodes that compile.
            Equal episodes share a fold. A log of fewer episodes than folds leaves out one at a
            time; a log of equal episodes gives no pairs.

        Raises:
            WorldModelError: The model has not been fitted.
        """
        self._check_fitted("out_of_fold")
        kept = [logged for logged in self.log if compiling_scripts(logged.episode)]
        number = _numbered([(logged.task, logged.actions) for logged in kept])
        fold = np.random.default_rng(self.seed).permutation(number.max() + 1) % self.folds
        if fold.size < 2:
            return np.empty(0), np.empty(0), []
        fold, predicted = fold[number], np.empty(len(kept))
        for k in np.unique(fold):
            fitted = self._fitted([kept[i] for i in np.flatnonzero(fold != k)])
            held_out = np.flatnonzero(fold == k)
            predicted[held_out] = self._rewards([kept[i].episode for i in held_out], *fitted)
        return predicted, np.array([e.reward for e in kept]), [e.task for e in kept]

    def save(self, folder: Path | str) -> None:
        """Writes the settings and the log; :meth:`load` refits, so that no pickle is ever read.

        Raises:
            WorldModelError: The model has not been fitted.
        """
        self._check_fitted("save")
        settings = {"low": self.low, "high": self.high, "folds": self.folds, "seed": self.seed}
        saved.write(Path(folder), settings, self.log)

    @classmethod
    def load(cls, folder: Path | str) -> "RegressionWorldModel":
        """Reads what :meth:`save` wrote; the refit gives the same predictions.

        Raises:
            FileNotFoundError: A file is missing.
            ValueError: A file holds something else than what was saved; the message names it.
        """
        settings, log = saved.read(Path(folder))
        try:
            return cls(**settings).fit(log)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{folder}: not a saved regression: {error}") from error

    def _check_fitted(self, action: str) -> None:
        if not self.log:
            raise WorldModelError(
                f"RegressionWorldModel must be fitted on an execution log before {action}"
            )

    def _fitted(self, log: Sequence[LoggedEpisode]) -> tuple[ScriptFeatures, Any]:
        from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

        pairs = [(logged.task, compiling_scripts(logged.episode)[-1]) for logged in log]
        features = ScriptFeatures().fit(pairs)
        boosting = HistGradientBoostingRegressor(
            max_iter=80,
            learning_rate=0.12,
            max_leaf_nodes=12,
            min_samples_leaf=6,
            l2_regularization=1.0,
            max_features=0.5,
            max_bins=32,
            early_stopping=False,
            random_state=self.seed,
        )
        trees = ExtraTreesRegressor(100, max_features=0.5, random_state=self.seed)
        x, y = features.transform(pairs), [logged.reward for logged in log]
        with _one_thread():
            return features, _Regressor(boosting.fit(x, y), trees.fit(x, y))

    def _rewards(
        self, episodes: Sequence[Episode], features: ScriptFeatures, regressor: Any
    ) -> np.ndarray:
        """(N,) float64: the best prediction among an episode's scripts, NaN without one."""
        pairs, owners = [], []
        for i, episode in enumerate(episodes):
            for script in compiling_scripts(episode):
                pairs.append((episode.task, script))
                owners.append(i)
        rewards = np.full(len(episodes), np.nan)
        if pairs:
            with _one_thread():
                predicted = regressor.predict(features.transform(pairs))
            np.fmax.at(rewards, owners, np.clip(predicted, self.low, self.high))
        return rewards


class _Regressor:
    """The mean of two: boosting smooths, fully grown trees remember.

    Together they rank better than either.
    """

    def __init__(self, boosting: Any, trees: Any) -> None:
        self._boosting, self._trees = boosting, StackedForest(trees)

    def predict(self, features: np.ndarray) -> np.ndarray:
        """(N,) float64 for (N, F) float32 features."""
        return (self._boosting.predict(features) + self._trees.predict(features)) / 2


def _one_thread() -> AbstractContextManager[Any]:
    """Boosting's threads wait for each other actively: on so few rows that is all that they do."""
    return _thread_pools().limit(limits=1, user_api="openmp")


@lru_cache(maxsize=1)
def _thread_pools() -> Any:
    """This process's thread pools; looking for them takes milliseconds."""
    import sklearn.ensemble  # noqa: F401 (loads the library whose pool is meant)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _numbered(keys: Sequence[Hashable]) -> np.ndarray:
    """(N,) int64: the same number for equal keys, counting up from 0."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _unread_reward(episode: Episode) -> float | None:
    """What is known of an episode without a script: 0.0 of texts, nothing of other actions."""
    return 0.0 if never_compiles(episode) else None
