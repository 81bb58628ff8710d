"""The plans, and how they are made to fail."""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.libero.expert import FAILURES, PLANS, Failure, ScriptedExpert
from wmrl_envs.libero.expert.plans import Plan
from wmrl_envs.libero.expert.skills import Grasp, Place
from wmrl_envs.libero.expert.variations import Release, failing, shifted_grasps

tasks = st.sampled_from(sorted(PLANS))
seeds = st.integers(0, 2**32 - 1)


def skills(plan: Plan) -> list[object]:
    return [skill for step in plan for skill in step.skills]


def test_every_task_of_libero_10_has_a_plan() -> None:
    assert sorted(PLANS) == list(range(10))


@given(tasks, seeds, st.sampled_from(FAILURES))
def test_a_failing_plan_is_a_plan_that_goes_wrong_at_its_end(
    task: int, seed: int, failure: Failure
) -> None:
    plan = PLANS[task]
    found = skills(failing(plan, failure, np.random.default_rng(seed)))
    kept = len([1 for new, old in zip(found, skills(plan), strict=False) if new == old])
    assert kept < len(skills(plan))
    assert 1 <= len(found) <= kept + 1


@given(tasks, seeds)
def test_a_dropped_object_has_been_grasped(task: int, seed: int) -> None:
    found = skills(failing(PLANS[task], "drop", np.random.default_rng(seed)))
    assert isinstance(found[-2], Grasp)
    assert found[-1] == Release()


@given(tasks, seeds)
def test_a_missed_object_is_grasped_seven_centimetres_beside_it(task: int, seed: int) -> None:
    plan = PLANS[task]
    found = skills(failing(plan, "miss", np.random.default_rng(seed)))
    missed, meant = found[-1], skills(plan)[len(found) - 1]
    assert isinstance(missed, Grasp) and isinstance(meant, Grasp)
    error = np.subtract(missed.offsets[0], meant.offsets[0])
    assert np.linalg.norm(error) == pytest.approx(0.07)


@given(tasks, seeds)
def test_a_misplaced_object_is_put_down_elsewhere_at_the_same_height(task: int, seed: int) -> None:
    plan = PLANS[task]
    found = skills(failing(plan, "misplace", np.random.default_rng(seed)))
    put, meant = found[-1], skills(plan)[len(found) - 1]
    assert isinstance(put, Place) and isinstance(meant, Place)
    assert put.offset[2] == meant.offset[2]
    assert np.linalg.norm(np.subtract(put.offset, meant.offset)) == pytest.approx(0.15)


@given(tasks, st.tuples(st.floats(-0.05, 0.05), st.floats(-0.05, 0.05)))
def test_a_shift_moves_every_grasp_and_nothing_else(task: int, shift: tuple[float, float]) -> None:
    for new, old in zip(
        skills(shifted_grasps(PLANS[task], shift)), skills(PLANS[task]), strict=True
    ):
        if isinstance(new, Grasp) and isinstance(old, Grasp):
            moved = np.subtract(new.offsets, old.offsets)
            assert np.allclose(moved, [*shift, 0.0])
        else:
            assert new == old


def test_an_unknown_failure_is_named() -> None:
    with pytest.raises(ValueError, match="failure must be one of .* got 'explode'"):
        failing(PLANS[0], "explode", np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["noise", "grasp_noise"])
def test_noise_cannot_be_negative(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be at least 0, got -0.1"):
        ScriptedExpert(**{option: -0.1})  # type: ignore[arg-type]


@pytest.mark.parametrize(("suite", "task_id"), [("libero_spatial", 0), ("libero_10", 10)])
def test_a_task_without_a_plan_is_named(suite: str, task_id: int) -> None:
    task = SimpleNamespace(suite=suite, task_id=task_id)
    env = SimpleNamespace(simulation=SimpleNamespace(task=task, domain=None))
    with pytest.raises(ValueError, match=f"plans for libero_10, not for {suite} {task_id}"):
        ScriptedExpert().reset(SimpleNamespace(unwrapped=env, action_space=Box(-1, 1, (7,))))


def test_chunks_of_actions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"single \(7,\), got chunks \(8, 7\)"):
        ScriptedExpert().reset(SimpleNamespace(action_space=Box(-1, 1, (8, 7))))


def test_acting_needs_a_reset() -> None:
    with pytest.raises(ResetNeeded, match="call reset before act"):
        ScriptedExpert().act()
