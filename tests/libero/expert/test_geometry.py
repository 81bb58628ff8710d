"""The expert's geometry: rotations, grips, doors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from wmrl_envs.libero.expert.geometry import (
    door_point,
    gripper_rotation,
    nearest_half_turn,
    room,
    rotation_error,
    thin_yaw,
)

angles = st.floats(-1.5, 1.5)


@given(angles, angles)
def test_the_gripper_keeps_a_proper_rotation(yaw: float, tilt: float) -> None:
    rotation = gripper_rotation(yaw, tilt)
    assert np.allclose(rotation @ rotation.T, np.eye(3))
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_a_tilted_gripper_leads_with_its_fingertips_towards_plus_y() -> None:
    pointing = gripper_rotation(yaw=np.pi / 2, tilt=0.5)[:, 2]
    assert pointing == pytest.approx([0.0, np.sin(0.5), -np.cos(0.5)])


@given(angles, angles, angles)
def test_the_rotation_error_turns_one_rotation_into_the_other(
    yaw: float, tilt: float, other: float
) -> None:
    start, target = gripper_rotation(yaw, tilt), gripper_rotation(other)
    error = rotation_error(start, target)
    if np.linalg.norm(error) < 3.0:  # short of half a turn
        assert np.allclose(Rotation.from_rotvec(error).as_matrix() @ start, target, atol=1e-6)


@given(st.floats(-20, 20))
def test_a_half_turn_makes_no_difference_to_two_fingers(angle: float) -> None:
    nearest = nearest_half_turn(angle)
    assert -np.pi / 2 <= nearest < np.pi / 2 + 1e-9
    assert np.sin(angle - nearest) == pytest.approx(0.0, abs=1e-9)


@given(st.floats(-1.5, 1.5), st.permutations([0.01, 0.06, 0.12]))
def test_a_box_is_thin_along_its_shortest_lying_edge(turn: float, sizes: list[float]) -> None:
    rotation = Rotation.from_euler("z", turn).as_matrix()
    shortest = int(np.argmin(sizes[:2]))
    expected = nearest_half_turn(turn + shortest * np.pi / 2)
    difference = nearest_half_turn(thin_yaw(rotation, np.array(sizes)) - expected)
    assert min(abs(difference), np.pi - abs(difference)) == pytest.approx(0.0, abs=1e-9)


def test_a_door_point_goes_round_the_hinge_at_its_radius() -> None:
    hinge = np.array([0.2, -0.1, 1.0])
    open_, shut = (door_point(hinge, angle, 0.3, 0.0) for angle in (0.0, np.pi / 2))
    assert open_ - hinge == pytest.approx([0.0, -0.3, 0.0])
    assert shut - hinge == pytest.approx([0.3, 0.0, 0.0])


def test_depth_is_measured_on_the_side_from_which_the_door_is_pushed() -> None:
    hinge = np.zeros(3)
    assert door_point(hinge, 0.0, 0.3, 0.1)[0] == pytest.approx(-0.1)
    assert door_point(hinge, np.pi / 2, 0.3, 0.1)[1] == pytest.approx(-0.1)


def test_a_tall_object_is_in_the_way_of_the_hand_where_a_low_one_is_not() -> None:
    grip, low, tall = np.zeros(3), np.array([[0.06, 0.1, 0.0]]), np.array([[0.06, 0.1, 0.1]])
    assert room(grip, gripper_rotation(), low) == 1.0
    assert room(grip, gripper_rotation(), tall) < 1.0


def test_without_other_objects_there_is_room() -> None:
    assert room(np.zeros(3), gripper_rotation(), np.empty((0, 3))) == 1.0
