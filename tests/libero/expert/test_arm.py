"""The waypoint controller, on a hand that obeys."""

import numpy as np
import pytest
from testing_expert import ToyWorkspace, play

from wmrl_envs.libero.expert.arm import CLOSED, OPEN, Arm, pose_action
from wmrl_envs.libero.expert.geometry import gripper_rotation, rotation_error

TARGET = np.array([0.2, -0.1, 0.4])


@pytest.fixture
def arm() -> Arm:
    return Arm(ToyWorkspace())  # type: ignore[arg-type]  # it offers the same


def test_actions_stay_within_their_bounds() -> None:
    action = pose_action(np.array([9.0, -9.0, 0.001]), np.array([9.0, 0.0, -9.0]), CLOSED, 0.5)
    assert action[:2] == pytest.approx([0.5, -0.5])
    assert np.abs(action).max() <= 1.0


def test_a_move_ends_within_its_tolerance(arm: Arm) -> None:
    play(arm.workspace, arm.move(TARGET, 0.005))
    assert np.linalg.norm(arm.workspace.gripper_position - TARGET) < 0.005


def test_a_move_turns_the_hand_on_its_way(arm: Arm) -> None:
    arm.rotation = gripper_rotation(yaw=1.0)
    play(arm.workspace, arm.move(TARGET, 0.005))
    error = rotation_error(arm.workspace.gripper_rotation, arm.rotation)
    assert np.linalg.norm(error) < 0.1


def test_a_slower_move_takes_longer(arm: Arm) -> None:
    quick = play(arm.workspace, arm.move(TARGET))
    other = ToyWorkspace()
    slow = play(other, Arm(other).move(TARGET, speed=0.5))  # type: ignore[arg-type]
    assert len(quick) < 80
    assert len(slow) > len(quick)


def test_a_move_gives_up_when_something_is_in_the_way(arm: Arm) -> None:
    arm.workspace.wall = 0.45
    places = play(arm.workspace, arm.move(np.array([0.0, 0.0, 0.3]), steps=80))
    assert len(places) < 20


def test_a_push_does_not_give_up(arm: Arm) -> None:
    arm.workspace.wall = 0.45
    places = play(arm.workspace, arm.move(np.array([0.0, 0.0, 0.3]), steps=80, push=True))
    assert len(places) == 80


def test_a_move_ends_when_it_is_told_to(arm: Arm) -> None:
    places = play(arm.workspace, arm.move(TARGET, until=lambda: len(arm.rotation) == 3))
    assert places == []


def test_the_fingers_close_and_open(arm: Arm) -> None:
    play(arm.workspace, arm.close())
    assert arm.gripper == CLOSED
    assert arm.workspace.finger_gap < 0.01
    play(arm.workspace, arm.open())
    assert arm.gripper == OPEN
    assert arm.workspace.finger_gap > 0.07


def test_waiting_keeps_the_hand_where_it_is(arm: Arm) -> None:
    places = play(arm.workspace, arm.wait(5))
    assert places == [pytest.approx([0.0, 0.0, 0.5])] * 5
