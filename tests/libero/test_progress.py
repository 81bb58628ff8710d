"""Tests of the privileged view of a goal."""

import numpy as np
import pytest

from wmrl_envs.libero.progress import progress

pytestmark = pytest.mark.sim


def knob(simulation):
    return simulation.data.joint("flat_stove_1_button")


def test_predicates_say_what_is_missing_and_how_far_it_is(simulation):
    simulation.start(simulation.task.initial_states()[0])
    found = progress(simulation)
    assert [goal.predicate for goal in found.goals] == ["turnon", "on"]
    assert found.goals[1].arguments == ("moka_pot_1", "flat_stove_1_cook_region")
    gap = found.poses["moka_pot_1"][:3] - found.regions["flat_stove_1_cook_region"]
    assert found.goals[1].distance == pytest.approx(np.linalg.norm(gap))
    assert found.goals[0].distance > 0.0 and found.fraction == 0.0


def test_turning_the_knob_shortens_the_distance_until_the_predicate_holds(simulation):
    simulation.start(simulation.task.initial_states()[0])
    joint = knob(simulation)
    far = progress(simulation).goals[0].distance
    joint.qpos[0] += far / 2
    assert progress(simulation).goals[0].distance == pytest.approx(far / 2)
    joint.qpos[0] += far
    found = progress(simulation)
    assert (found.goals[0].satisfied, found.goals[0].distance) == (True, 0.0)
    assert found.fraction == 0.5


def test_poses_are_positions_and_unit_quaternions_of_objects_and_fixtures(simulation):
    simulation.start(simulation.task.initial_states()[0])
    found = progress(simulation)
    assert set(found.poses) == {*simulation.task.objects, *simulation.task.fixtures}
    for pose in (found.hand, *found.poses.values()):
        assert pose.shape == (7,)
        assert np.linalg.norm(pose[3:]) == pytest.approx(1.0)
