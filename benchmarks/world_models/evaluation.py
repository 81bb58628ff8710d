"""A world model measured against executed episodes: agreement, calibration, cost."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.predictions import predict
from wmrl_envs.wrappers.world_models.base import Prediction, WorldModel
from wmrl_envs.wrappers.world_models.calibration import (
    LADDER,
    CalibrationPoint,
    LevelBias,
    bias_by_level,
    calibration_curve,
    level_confusion,
)
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode
from wmrl_envs.wrappers.world_models.fidelity import Fidelity, fidelity

__all__ = ["Evaluation", "evaluate_world_model", "held_out_split"]


@dataclass(frozen=True)
class Evaluation:
    """What a world model says of executed episodes, and what it takes.

    Attributes:
        fidelity: The agreement; groups are tasks.
        levels: The error on each level of the measured reward.
        confusion: (5, 5) counts, measured level by predicted level.
        curve: The calibration curve.
        no_opinion: Episodes without a prediction; they are in none of the above.
        wall_s: Wall seconds of all predictions.
        cpu_s: CPU seconds of this process for all predictions.
        execution_cpu_s: CPU seconds of one execution, if the log says so.
    """

    fidelity: Fidelity
    levels: list[LevelBias]
    confusion: np.ndarray
    curve: list[CalibrationPoint]
    no_opinion: int
    wall_s: float
    cpu_s: float
    execution_cpu_s: float | None = field(default=None)

    @property
    def asked(self) -> int:
        """Episodes that the model was asked about."""
        return self.fidelity.count + self.no_opinion

    @property
    def predictions_per_second(self) -> float:
        """Predictions a wall second."""
        return self.asked / max(self.wall_s, 1e-9)

    @property
    def cpu_s_per_prediction(self) -> float:
        """CPU seconds of a prediction."""
        return self.cpu_s / self.asked

    @property
    def cheaper(self) -> float | None:
        """How many predictions one execution's CPU time pays for, if that is known."""
        if self.execution_cpu_s is None:
            return None
        return self.execution_cpu_s / max(self.cpu_s_per_prediction, 1e-12)

    def record(self) -> dict[str, Any]:
        """Everything as JSON-able values."""
        return {
            "fidelity": asdict(self.fidelity),
            "no_opinion": self.no_opinion,
            "levels": [asdict(level) for level in self.levels],
            "confusion": {"levels": [n for n, _ in LADDER], "counts": self.confusion.tolist()},
            "calibration": [asdict(point) for point in self.curve],
            "predictions_per_second": self.predictions_per_second,
            "cpu_s_per_prediction": self.cpu_s_per_prediction,
            "cpu_s_per_execution": self.execution_cpu_s,
            "predictions_per_execution": self.cheaper,
        }


def evaluate_world_model(
    world_model: WorldModel,
    log: Sequence[LoggedEpisode],
    *,
    batch: int = 256,
    execution_cpu_s: float | None = None,
) -> Evaluation:
    """Asks a world model about executed episodes that it has not learned from.

    Args:
        world_model: The model; it is asked about one episode first, unmeasured, so that what it
            loads at its first use is not taken for the price of a prediction.
        log: The executed episodes.
        batch: Episodes a call.
        execution_cpu_s: CPU seconds of one execution, for comparison.

    Raises:
        WorldModelError: The model fails, or has no opinion on any of the episodes.
        ValueError: The log is empty.
    """
    if not log:
        raise ValueError("log must hold an episode, got none")
    episodes = [logged.episode for logged in log]
    predict(world_model, episodes[:1])
    wall, cpu = time.perf_counter(), time.process_time()
    predictions: list[Prediction] = []
    for start in range(0, len(episodes), batch):
        predictions += predict(world_model, episodes[start : start + batch])
    spent = time.perf_counter() - wall, time.process_time() - cpu
    return _summary(log, predictions, *spent, execution_cpu_s)


def _summary(
    log: Sequence[LoggedEpisode],
    predictions: Sequence[Prediction],
    wall_s: float,
    cpu_s: float,
    execution_cpu_s: float | None,
) -> Evaluation:
    known = [(p.reward, e) for p, e in zip(predictions, log, strict=True) if p.reward is not None]
    if not known:
        raise WorldModelError(f"the world model has no opinion on any of {len(log)} episodes")
    predicted = [reward for reward, _ in known]
    measured = [episode.reward for _, episode in known]
    return Evaluation(
        fidelity(predicted, measured, [episode.task for _, episode in known]),
        bias_by_level(predicted, measured),
        level_confusion(predicted, measured),
        calibration_curve(predicted, measured),
        len(log) - len(known),
        wall_s,
        cpu_s,
        execution_cpu_s,
    )


def held_out_split(
    log: Sequence[LoggedEpisode], share: float, seed: int
) -> tuple[list[LoggedEpisode], list[LoggedEpisode]]:
    """Splits a log at random into episodes to learn from and episodes to be asked about.

    Equal episodes fall on the same side: a twin would tell the reward.

    Args:
        log: The log.
        share: The share of distinct episodes held out, in (0, 1).
        seed: Seed of the choice.

    Returns:
        The episodes to learn from, and those held out, in the log's order.

    Raises:
        ValueError: ``share`` lies outside (0, 1), or a side is empty.
    """
    if not 0 < share < 1:
        raise ValueError(f"held_out must lie in (0, 1), got {share!r}")
    distinct = list(dict.fromkeys((logged.task, logged.actions) for logged in log))
    chosen = np.random.default_rng(seed).permutation(len(distinct))[: round(share * len(distinct))]
    held = {distinct[i] for i in chosen}
    sides: tuple[list[LoggedEpisode], list[LoggedEpisode]] = ([], [])
    for logged in log:
        sides[(logged.task, logged.actions) in held].append(logged)
    if not all(sides):
        raise ValueError(
            f"held_out={share!r} of {len(distinct)} distinct episodes leaves one side empty"
        )
    return sides
