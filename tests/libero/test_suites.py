"""Tests of what is known of suites and tasks before a simulator starts."""

import importlib.util

import pytest

from wmrl_envs.libero.suites import suite, suite_names

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("libero") is None, reason="LIBERO is not installed"
)


def test_the_long_suite_has_ten_tasks_of_fifty_initial_states():
    tasks = suite("libero_10")
    assert [task.task_id for task in tasks] == list(range(10))
    assert {len(task.initial_states()) for task in tasks} == {50}


def test_a_task_is_read_from_its_problem():
    task = suite("libero_10")[3]
    assert task.instruction == "put the black bowl in the bottom drawer of the cabinet and close it"
    assert task.objects == ("akita_black_bowl_1", "wine_bottle_1")
    assert task.fixtures == ("white_cabinet_1", "wine_rack_1")


def test_the_language_suite_says_the_same_in_other_words():
    plain, reworded = suite("libero_10")[0], suite("libero_10_lan")[0]
    assert plain.name == reworded.name
    assert plain.instruction != reworded.instruction


def test_the_shifted_suites_are_there_and_incomplete_ones_are_not():
    names = suite_names()
    assert {"libero_10", "libero_90", "libero_spatial", "libero_10_swap"} <= set(names)
    assert "libero_10_env" not in names


def test_initial_states_are_as_wide_as_the_objects_make_them():
    for name in set(suite_names()) - {"libero_10_with_milk"}:
        for task in suite(name):
            joints = task.initial_states().shape[1] - 1 - 18 - 13 * len(task.objects)
            assert joints >= 0 and joints % 2 == 0, f"{name} {task.name}"


def test_a_task_whose_file_of_initial_states_is_empty_is_refused():
    tasks = suite("libero_10_with_milk")
    task = next(task for task in tasks if "the_tomato_sauce" in task.name)
    with pytest.raises(ValueError, match=f"no initial states in .*{task.name}"):
        task.initial_states()


def test_initial_states_cannot_be_changed_for_others():
    with pytest.raises(ValueError, match="read-only"):
        suite("libero_10")[0].initial_states()[0, 0] = 1.0


@pytest.mark.parametrize("name", ["libero_11", "libero_10_env"])
def test_an_unknown_or_incomplete_suite_is_refused(name):
    with pytest.raises(ValueError, match=name):
        suite(name)
