"""The skills, in a world without physics."""

import numpy as np
import pytest
from testing_expert import ToyWorkspace, play

from wmrl_envs.libero.expert.arm import Arm
from wmrl_envs.libero.expert.skills import Grasp, Place, Push, Skill, SkillFailed, SwingDoor
from wmrl_envs.libero.expert.workspace import Box

CUBE = (0.1, 0.05, 0.0)


def do(world: ToyWorkspace, *skills: Skill) -> list[np.ndarray]:
    """Lets one arm do skill after skill; returns where the hand was in the last one."""
    arm = Arm(world)  # type: ignore[arg-type]  # it offers the same
    return [play(world, skill.actions(arm, lambda: False)) for skill in skills][-1]


def test_a_grasp_lifts_the_object() -> None:
    world = ToyWorkspace(cube=CUBE)
    do(world, Grasp("cube", [(0.0, 0.0, 0.0)], lift=0.2))
    assert world.held == "cube"
    assert world.position("cube")[2] > 0.15


def test_a_grasp_tries_its_next_offset() -> None:
    world = ToyWorkspace(cube=CUBE)
    do(world, Grasp("cube", [(0.1, 0.0, 0.0), (0.0, 0.0, 0.0)]))
    assert world.held == "cube"


def test_a_grasp_that_slips_every_time_fails_by_name() -> None:
    world = ToyWorkspace(cube=CUBE)
    world.slippery = {"cube"}
    with pytest.raises(SkillFailed, match="cube is not held"):
        do(world, Grasp("cube", [(0.0, 0.0, 0.0)]))


def test_a_grasp_begins_where_the_fingers_have_room() -> None:
    world = ToyWorkspace(box=CUBE, carton=(0.1, 0.1, 0.0))
    grasp = Grasp("box", [(0.0, 0.0, 0.0), (0.02, 0.0, 0.0), (-0.02, -0.01, 0.0)])
    lowest = min(do(world, grasp), key=lambda place: place[2])
    assert lowest[:2] == pytest.approx([0.08, 0.04], abs=0.01)


def test_a_grasp_does_not_close_on_what_it_cannot_reach() -> None:
    world = ToyWorkspace(cube=CUBE)
    world.wall = 0.05
    with pytest.raises(SkillFailed):
        do(world, Grasp("cube", [(0.0, 0.0, 0.0)]))
    assert world.finger_gap == pytest.approx(0.08)


def test_a_grasp_by_the_box_closes_across_its_thin_side() -> None:
    world = ToyWorkspace(book=CUBE)
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    world.boxes["book"] = Box(np.array(CUBE), turned, np.array([0.1, 0.02, 0.15]))
    do(world, Grasp("book", [(0.0, 0.0, 0.0)], by_box=True))
    fingers = world.gripper_rotation[:, 0]
    assert np.abs(fingers) == pytest.approx([1.0, 0.0, 0.0], abs=0.1)


def test_a_held_object_comes_to_its_place() -> None:
    world = ToyWorkspace(cube=CUBE, plate=(-0.1, 0.2, 0.0))
    place = Place("cube", "plate", (0.0, 0.0, 0.02), tolerance=0.005)
    do(world, Grasp("cube", [(0.01, 0.0, 0.01)]), place)
    assert world.held is None
    assert world.position("cube") == pytest.approx([-0.1, 0.2, 0.02], abs=0.006)


def test_a_placed_object_goes_by_the_points_on_its_way() -> None:
    world = ToyWorkspace(cube=CUBE, oven=(0.1, 0.4, 0.0))
    place = Place("cube", "oven", (0.0, 0.0, 0.0), via=[(0.0, -0.2, 0.1)])
    places = do(world, Grasp("cube", [(0.0, 0.0, 0.0)]), place)
    passed = min(np.linalg.norm(place - [0.1, 0.2, 0.1]) for place in places)
    assert passed < 0.02


def test_a_push_follows_its_path_with_closed_fingers() -> None:
    world = ToyWorkspace(drawer=CUBE)
    places = do(world, Push("drawer", [(0.0, -0.1, 0.1), (0.0, 0.1, 0.1)]))
    assert world.finger_gap < 0.01
    assert places[-1] == pytest.approx([0.1, 0.15, 0.1], abs=0.015)


def test_a_push_ends_when_its_goal_holds() -> None:
    world = ToyWorkspace(drawer=CUBE)
    arm = Arm(world)  # type: ignore[arg-type]
    push = Push("drawer", [(0.0, -0.1, 0.1), (0.0, 0.5, 0.1)])
    play(world, push.actions(arm, lambda: world.gripper_position[1] > 0.2))
    assert 0.2 < world.gripper_position[1] < 0.25


def test_a_door_is_swept_from_where_it_stands_to_shut() -> None:
    world = ToyWorkspace(oven=CUBE)
    world.joints["hinge"] = -1.0
    places = do(world, SwingDoor("oven", "hinge", (0.0, 0.0, 0.0), 0.2))
    assert places[-1][0] - CUBE[0] == pytest.approx(0.2, abs=0.02)
    assert all(np.linalg.norm((place - CUBE)[:2]) > 0.12 for place in places[20:])
