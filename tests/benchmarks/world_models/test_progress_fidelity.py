"""Figures of a progress model on held-out initial states, with models whose error is known."""

import numpy as np
import pytest

from wmrl_envs.benchmarks.world_models.progress_clips import DemonstrationClip
from wmrl_envs.benchmarks.world_models.progress_fidelity import (
    fidelity_by_task,
    fidelity_table,
    split_states,
)
from wmrl_envs.libero.demonstrations import Recipe
from wmrl_envs.wrappers.world_models.progress import ProgressClip

N = 8


class Brightness:
    """Reads the progress off the frames' brightness, or what is left to success."""

    def __init__(self, reversed_: bool = False) -> None:
        self.reversed = reversed_

    def progress(self, task: str, frames: np.ndarray) -> np.ndarray:
        read = frames[:, 0, 0, 0] / 255.0
        return 1.0 - read if self.reversed else read


def made(task_id: int, state: int, success: bool) -> DemonstrationClip:
    progress = np.linspace(0.0, 1.0 if success else 0.2, N)
    frames = np.broadcast_to((255 * progress).astype(np.uint8)[:, None, None, None], (N, 4, 4, 3))
    recipe = Recipe(task_id, state, failure=None if success else "stop")
    return DemonstrationClip(recipe, success, ProgressClip(f"task {task_id}", frames, progress))


@pytest.fixture
def clips() -> list[DemonstrationClip]:
    return [
        made(task, state, success)
        for task in (5, 7)
        for state in range(4)
        for success in (True, False)
    ]


def test_whole_initial_states_are_held_out(clips: list[DemonstrationClip]) -> None:
    learned, rest = split_states(clips, (3,))
    assert {c.recipe.init_state_id for c in learned} == {0, 1, 2}
    assert {c.recipe.init_state_id for c in rest} == {3}
    assert len(learned) + len(rest) == len(clips)


@pytest.mark.parametrize("held_out", [(), (9,), (0, 1, 2, 3)])
def test_a_split_needs_both_parts(
    clips: list[DemonstrationClip], held_out: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=r"initial states \[0, 1, 2, 3\]"):
        split_states(clips, held_out)


def test_a_model_that_is_right_parts_all_successes_from_failures(
    clips: list[DemonstrationClip],
) -> None:
    found = fidelity_by_task(Brightness(), *split_states(clips, (2, 3)))
    assert list(found) == ["task 5", "task 7", "all"]
    assert (found["task 5"].episodes, found["task 5"].successes) == (4, 2)
    whole = found["all"]
    assert whole.auc_final == whole.auc_potential == 1.0
    assert whole.mae < 0.01 and whole.rank > 0.99
    # Successes rise to 1, failures to 0.2: their mean misses both by half of 0.8 of the way.
    assert whole.mae_of_time == pytest.approx(0.4 * np.linspace(0, 1, N).mean())


def test_a_model_that_is_upside_down_has_an_area_of_nothing(
    clips: list[DemonstrationClip],
) -> None:
    whole = fidelity_by_task(Brightness(reversed_=True), *split_states(clips, (3,)))["all"]
    assert whole.auc_final == whole.auc_potential == 0.0 and whole.rank < -0.99


def test_without_failures_there_is_no_area_and_a_dash_in_the_table(
    clips: list[DemonstrationClip],
) -> None:
    successes = [clip for clip in clips if clip.success]
    found = fidelity_by_task(Brightness(), *split_states(successes, (3,)))
    assert np.isnan(found["all"].auc_final)
    last = fidelity_table(found).markdown().splitlines()[-1]
    assert last.startswith("| all | 2 | 2 | 0.00") and last.endswith("| – | – |")
