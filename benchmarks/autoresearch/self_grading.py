"""The policy's own frozen backbone as the world model: one language model does both."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.agents.smollm2.scaffold import line_of
from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode, read_log
from wmrl_envs.wrappers.world_models.few_shot import choose_examples
from wmrl_envs.wrappers.world_models.language_model import LanguageModelWorldModel

__all__ = ["SelfGrading"]

_SHOTS = 6


class SelfGrading:
    """Grades programs in one pass of the policy's backbone, its adapter switched off.

    Of a program with a scaffold it reads the line that the policy wrote. Some executed programs of
    the log stand in its prompt as examples; the others give the correction its first pairs. It
    does not learn from anchors: that is left to the correction.

    Args:
        policy: A language-model policy on a PEFT model.
        folder: The folder of the execution log.
        episodes: How many of its episodes to use.
        **settings: Further arguments of
            :class:`~wmrl_envs.wrappers.world_models.language_model.LanguageModelWorldModel`.

    Attributes:
        cpu_seconds: The CPU seconds so far.
        log: The episodes of the log.
        out_of_fold: (N,) predictions and (N,) measured rewards of the log's episodes that are no
            examples.

    Raises:
        TypeError: The policy's model has no adapter.
        WorldModelError: The log has too few programs that compile.
    """

    def __init__(self, policy: Any, folder: Path, episodes: int, **settings: Any) -> None:
        self.cpu_seconds = 0.0
        self.log = read_log(folder / "log.jsonl")[:episodes]
        lines = [replace(e, actions=tuple(map(line_of, e.actions))) for e in self.log]
        examples = choose_examples(lines, _SHOTS)
        if len(examples) < _SHOTS:
            raise WorldModelError(
                f"{folder / 'log.jsonl'} must hold {_SHOTS} programs that compile, has "
                f"{len(examples)}; raise log_episodes, got {episodes}"
            )
        self._model = LanguageModelWorldModel.from_policy(
            policy,
            examples=examples,
            **{"max_task_tokens": 256, "max_code_tokens": 128, "kept_tasks": 16, **settings},
        )
        rest = [e for e, line in zip(self.log, lines, strict=True) if line not in examples]
        self.out_of_fold = self._pairs(rest)

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order."""
        start = time.process_time()
        try:
            return self._model.predict(
                [Episode(e.task, tuple(map(line_of, e.actions))) for e in episodes]
            )
        finally:
            self.cpu_seconds += time.process_time() - start

    def refit(self, further: Sequence[LoggedEpisode]) -> None:
        """Leaves the backbone as it is: it is frozen."""

    def _pairs(self, logged: Sequence[LoggedEpisode]) -> tuple[np.ndarray, np.ndarray]:
        predictions = self.predict([e.episode for e in logged])
        pairs = [
            (p.reward, e.reward)
            for p, e in zip(predictions, logged, strict=True)
            if p.reward is not None
        ]
        predicted, measured = np.asarray(pairs, dtype=float).reshape(-1, 2).T
        return predicted, measured
