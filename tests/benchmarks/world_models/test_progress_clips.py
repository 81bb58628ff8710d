"""Clips are rendered once, and again only where the demonstration is another one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from testing_clips import render_brightness
from testing_demonstrations import made_up

from wmrl_envs.benchmarks.world_models.progress_clips import (
    ClipCache,
    ClipForm,
    read_demonstrations,
)
from wmrl_envs.libero.demonstrations import Demonstration, Recipe, Store, spread_moments

FORM = ClipForm(frames=4, pixels=16)


@pytest.fixture
def demonstrations() -> list[Demonstration]:
    return [made_up(Recipe(5, 0)), made_up(Recipe(5, 1, failure="stop"), success=False)]


@pytest.fixture
def cache(tmp_path: Path, demonstrations: list[Demonstration]) -> ClipCache:
    found = ClipCache(tmp_path, FORM, render_brightness)
    assert list(found.fill(demonstrations)) == demonstrations
    return found


def test_moments_include_both_ends_and_repeat_in_short_episodes() -> None:
    assert spread_moments(7, 8).tolist() == list(range(8))
    assert spread_moments(100, 3).tolist() == [0, 50, 100]
    assert spread_moments(1, 4).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="at least 2, got 1"):
        spread_moments(5, 1)


def test_a_clip_holds_frames_instruction_and_progress_of_its_moments(
    cache: ClipCache, demonstrations: list[Demonstration]
) -> None:
    success, failure = (cache.clip(found) for found in demonstrations)
    assert success.success and not failure.success
    assert success.clip.task == "do it" and success.clip.frames.shape == (4, 16, 16, 3)
    assert success.clip.progress.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert np.array_equal(success.clip.frames[:, 0, 0, 0], 255 * success.clip.progress)
    assert not failure.clip.progress.any()


def test_what_was_rendered_is_not_rendered_again(
    cache: ClipCache, demonstrations: list[Demonstration], tmp_path: Path
) -> None:
    new = made_up(Recipe(5, 2))
    assert ClipCache(tmp_path, FORM).lacking([*demonstrations, new]) == [new]


def test_a_demonstration_recorded_anew_is_rendered_anew(
    cache: ClipCache, demonstrations: list[Demonstration]
) -> None:
    other = replace(demonstrations[0], states=demonstrations[0].states + 1.0)
    assert cache.lacking([other]) == [other]
    with pytest.raises(KeyError, match="task5-state00"):
        cache.clip(other)


def test_clips_of_another_form_lie_apart(
    cache: ClipCache, demonstrations: list[Demonstration], tmp_path: Path
) -> None:
    larger = ClipCache(tmp_path, ClipForm(frames=4, pixels=32), render_brightness)
    assert larger.lacking(demonstrations) == demonstrations
    list(larger.fill(demonstrations))
    assert cache.clip(demonstrations[0]).clip.frames.shape[1] == 16


def test_an_interrupted_rendering_goes_on_where_it_stopped(
    demonstrations: list[Demonstration], tmp_path: Path
) -> None:
    cache = ClipCache(tmp_path, FORM, render_brightness)
    next(cache.fill(demonstrations))
    assert cache.lacking(demonstrations) == demonstrations[1:]


def test_demonstrations_are_found_in_either_folder(
    demonstrations: list[Demonstration], tmp_path: Path
) -> None:
    store = Store(tmp_path / "demos" / "episodes")
    for found in demonstrations:
        store.add(found)
    for folder in (tmp_path / "demos", tmp_path / "demos" / "episodes"):
        assert [f.recipe for f in read_demonstrations(folder)] == [
            found.recipe for found in demonstrations
        ]
    with pytest.raises(ValueError, match="holds no demonstrations"):
        read_demonstrations(tmp_path / "absent")


@pytest.mark.parametrize("wrong", [{"frames": 1}, {"pixels": 8}])
def test_a_form_without_room_for_progress_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"got .*{next(iter(wrong.values()))}"):
        ClipForm(**wrong)
