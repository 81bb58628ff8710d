"""How well a progress model reads episodes from initial states that it has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, TypeVar

import numpy as np

from wmrl_envs.autoresearch.metrics.ranking import auc
from wmrl_envs.benchmarks.text_table import TextTable
from wmrl_envs.benchmarks.world_models.progress_clips import DemonstrationClip
from wmrl_envs.libero.demonstrations import Recipe
from wmrl_envs.wrappers.world_models.progress import ProgressWorldModel, progress_fidelity
from wmrl_envs.wrappers.world_models.progress_reward import Collapse, collapse_progress

__all__ = ["ClipFidelity", "fidelity_by_task", "fidelity_table", "split_states"]


class _Recorded(Protocol):
    """A demonstration, or the clip of one."""

    @property
    def recipe(self) -> Recipe: ...


_R = TypeVar("_R", bound=_Recorded)


@dataclass(frozen=True)
class ClipFidelity:
    """The figures of some clips.

    Attributes:
        episodes: How many.
        successes: How many of them reached the goal.
        mae: Mean absolute error of the progress over all frames.
        mae_of_time: The same of a guess that knows the task and the frame's place alone: the mean
            progress of the training clips there.
        rank: Mean of Spearman's correlation along a clip, over clips with spread; NaN without any.
            Ties in the real progress keep it below 1: with one goal, met in the last of eight
            frames, 0.577 is the most.
        auc_final: How well the last frame's progress parts successes from failures: the chance that
            a success has the higher one. NaN where all end alike.
        auc_potential: The same of the potential, last three frames minus first three.
    """

    episodes: int
    successes: int
    mae: float
    mae_of_time: float
    rank: float
    auc_final: float
    auc_potential: float


def split_states(recorded: Sequence[_R], held_out: Sequence[int]) -> tuple[list[_R], list[_R]]:
    """The demonstrations or clips to learn from, and those of held-out initial states.

    Raises:
        ValueError: One of the two would be empty.
    """
    learned = [found for found in recorded if found.recipe.init_state_id not in held_out]
    rest = [found for found in recorded if found.recipe.init_state_id in held_out]
    if not learned or not rest:
        states = sorted({found.recipe.init_state_id for found in recorded})
        raise ValueError(
            f"held_out must name some, not all, of the initial states {states}, got "
            f"{list(held_out)!r}"
        )
    return learned, rest


def fidelity_by_task(
    model: ProgressWorldModel,
    learned: Sequence[DemonstrationClip],
    held_out: Sequence[DemonstrationClip],
) -> dict[str, ClipFidelity]:
    """The figures of every task's held-out clips, under ``task 5`` and so on, and of ``all``.

    Args:
        model: The model.
        learned: The clips that it has learned from, for comparison.
        held_out: The clips that it has not seen.
    """
    over_time = _mean_progress(learned)
    tasks = sorted({found.recipe.task_id for found in held_out})
    found = {f"task {task}": _fidelity(model, _of(held_out, task), over_time) for task in tasks}
    return {**found, "all": _fidelity(model, held_out, over_time)}


def fidelity_table(found: Mapping[str, ClipFidelity]) -> TextTable:
    """One row a task, then all."""
    names = ("episodes", "successes", "MAE", "MAE of time alone", "rank", "AUC final")
    rows = [(task, *_cells(figures)) for task, figures in found.items()]
    return TextTable(("held-out states", *names, "AUC potential"), tuple(rows))


def _fidelity(
    model: ProgressWorldModel,
    held_out: Sequence[DemonstrationClip],
    over_time: Mapping[int, np.ndarray],
) -> ClipFidelity:
    clips = [found.clip for found in held_out]
    read = progress_fidelity(model, clips)
    guesses = [over_time.get(found.recipe.task_id, np.zeros(1)) for found in held_out]
    misses = [
        np.abs(guess - clip.progress).mean() for guess, clip in zip(guesses, clips, strict=True)
    ]
    success = np.array([found.success for found in held_out])
    predicted = [model.progress(clip.task, clip.frames) for clip in clips]
    return ClipFidelity(
        episodes=len(clips),
        successes=int(success.sum()),
        mae=read.mae,
        mae_of_time=float(np.mean(misses)),
        rank=read.rank,
        auc_final=_auc(success, predicted, "final"),
        auc_potential=_auc(success, predicted, "potential"),
    )


def _auc(success: np.ndarray, predicted: Sequence[np.ndarray], collapse: Collapse) -> float:
    if success.all() or not success.any():
        return float("nan")
    rewards = [collapse_progress(progress, collapse) for progress in predicted]
    return auc(success, np.array(rewards, np.float64))


def _mean_progress(clips: Sequence[DemonstrationClip]) -> dict[int, np.ndarray]:
    """By task: the mean progress of the clips at each frame."""
    tasks = {found.recipe.task_id for found in clips}
    return {
        task: np.mean([found.clip.progress for found in _of(clips, task)], axis=0) for task in tasks
    }


def _of(clips: Sequence[DemonstrationClip], task_id: int) -> list[DemonstrationClip]:
    return [found for found in clips if found.recipe.task_id == task_id]


def _cells(figures: ClipFidelity) -> list[str]:
    return [
        f"{value}" if isinstance(value, int) else "–" if np.isnan(value) else f"{value:.3f}"
        for value in asdict(figures).values()
    ]
