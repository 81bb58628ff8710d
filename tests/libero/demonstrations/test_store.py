"""Recipes and the folder of demonstrations, without a simulator."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from testing_demonstrations import made_up

from wmrl_envs.libero.demonstrations import Demonstration, Recipe, Store, collect

RECIPE = Recipe(task_id=3, init_state_id=7, seed=1, noise=0.1, failure="drop")


def test_different_recipes_have_different_names() -> None:
    changes = [{"task_id": 4}, {"init_state_id": 8}, {"seed": 2}, {"noise": 0.2}]
    changes += [{"grasp_noise": 0.01}, {"failure": None}, {"failure": "miss"}]
    names = {RECIPE.name, *(replace(RECIPE, **change).name for change in changes)}  # type: ignore[arg-type]
    assert len(names) == len(changes) + 1


@pytest.mark.parametrize(
    "wrong", [{"init_state_id": -1}, {"noise": -0.1}, {"noise": float("nan")}, {"failure": "x"}]
)
def test_an_impossible_recipe_is_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(RECIPE, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("success", [True, False])
def test_a_demonstration_comes_back_from_the_store_as_it_was(tmp_path: Path, success: bool) -> None:
    store, added = Store(tmp_path / "new"), made_up(RECIPE, success=success)
    store.add(added)
    found = store.get(RECIPE)
    for field in fields(Demonstration):
        np.testing.assert_equal(getattr(found, field.name), getattr(added, field.name))
        assert type(getattr(found, field.name)) is type(getattr(added, field.name))


def test_progress_is_the_share_of_goals_met() -> None:
    assert made_up(RECIPE, steps=3).progress.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_a_store_lists_its_demonstrations_by_task_and_state(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for task, state in ((2, 1), (0, 11), (0, 2)):
        store.add(made_up(Recipe(task, state)))
    assert [(d.recipe.task_id, d.recipe.init_state_id) for d in store] == [(0, 2), (0, 11), (2, 1)]


def test_an_unfinished_file_is_no_demonstration(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.path(RECIPE).with_suffix(".part").write_bytes(b"half")
    assert RECIPE not in store
    assert list(store) == []


def test_a_file_under_another_recipe_s_name_is_refused(tmp_path: Path) -> None:
    store, other = Store(tmp_path), replace(RECIPE, seed=9)
    store.add(made_up(RECIPE)).rename(store.path(other))
    with pytest.raises(ValueError, match="holds Recipe.*seed=1"):
        store.get(other)


def test_what_is_in_the_store_needs_no_environment(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(made_up(RECIPE))
    found = list(collect(None, [RECIPE], store))
    assert [demonstration.recipe for demonstration in found] == [RECIPE]
