"""How a world model's fidelity drifts along a training run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wmrl_envs.benchmarks.autoresearch.records import read_lines
from wmrl_envs.wrappers.world_models.fidelity import Fidelity, fidelity

__all__ = ["DriftPoint", "drift"]

_SPLITS = ("train", "test")


@dataclass(frozen=True)
class DriftPoint:
    """The fidelity on the episodes of one evaluation.

    Attributes:
        step: The step of the run.
        split: "train" or "test".
        predicted: Of the raw predictions.
        corrected: Of the corrected ones, where the run has a correction.
    """

    step: int
    split: str
    predicted: Fidelity
    corrected: Fidelity | None

    def record(self) -> dict[str, Any]:
        """Everything as JSON-able values."""
        return asdict(self)


def drift(folder: Path) -> list[DriftPoint]:
    """Reads the evaluations of a run folder, whose episodes were all executed and predicted.

    Args:
        folder: What ``wmrl train`` wrote.

    Returns:
        A point for each evaluation and split with predictions, in the run's order; none if the
        run has no world model, or the folder is none of a run.
    """
    return [
        point
        for evaluation in read_lines(folder / "evaluations.jsonl")
        for split in _SPLITS
        if (point := _point(evaluation, split)) is not None
    ]


def _point(evaluation: dict[str, Any], split: str) -> DriftPoint | None:
    predicted = _fidelity(evaluation.get(split, ()), "predicted")
    if predicted is None:
        return None
    corrected = _fidelity(evaluation[split], "corrected")
    return DriftPoint(evaluation["step"], split, predicted, corrected)


def _fidelity(episodes: Sequence[dict[str, Any]], field: str) -> Fidelity | None:
    known = [episode for episode in episodes if field in episode]
    if not known:
        return None
    rewards = [episode["reward"] for episode in known]
    tasks = [episode["task"] for episode in known]
    return fidelity([episode[field] for episode in known], rewards, tasks)
