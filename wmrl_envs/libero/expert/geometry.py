"""The expert's geometry: rotations, grasp directions and pushing paths, in metres and radians."""

import math
from math import cos, sin
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Vector",
    "door_point",
    "gripper_rotation",
    "nearest_half_turn",
    "room",
    "rotation_error",
    "thin_yaw",
]

Vector: TypeAlias = NDArray[np.float64]

_FINGER_REACH, _HAND_REACH = 0.055, 0.1
"""How far the open fingers and the hand extend to either side, m."""
_FINGERS_NEED, _HAND_NEEDS = 0.05, 0.07
"""The distance from their middle line to an object's centre that is free of contact, m."""
_TALL = 0.04
"""An object whose centre is that far above the fingertips reaches up to the hand, m."""
_DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""The gripper points down and its fingers close along the world's y axis."""


def gripper_rotation(yaw: float = 0.0, tilt: float = 0.0) -> Vector:
    """The orientation of a gripper that points down, turned and then tilted.

    Args:
        yaw: Turn about the world's z axis; at 0 the fingers close along y, at pi/2 along x.
        tilt: Turn about the world's x axis, after ``yaw``; positive swings the fingertips
            towards +y.

    Returns:
        A rotation matrix (3, 3), gripper axes in world coordinates.

    Example:
        >>> gripper_rotation(yaw=0.0)[:, 0]  # the axis along which the fingers close
        array([0., 1., 0.])
    """
    turn = np.array([[cos(yaw), -sin(yaw), 0.0], [sin(yaw), cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    lean = np.array([[1.0, 0.0, 0.0], [0.0, cos(tilt), -sin(tilt)], [0.0, sin(tilt), cos(tilt)]])
    return np.asarray(lean @ turn @ _DOWN)


def rotation_error(rotation: Vector, target: Vector) -> Vector:
    """The rotation vector (3,), rad, in world axes, that turns ``rotation`` into ``target``.

    The two must be less than half a turn apart.

    Example:
        >>> rotation_error(gripper_rotation(), gripper_rotation(yaw=0.5)).round(6) + 0.0
        array([0. , 0. , 0.5])
    """
    turn = target @ rotation.T
    axis = 0.5 * np.array(
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    )
    sine, cosine = math.sqrt(float(axis @ axis)), 0.5 * (float(np.trace(turn)) - 1.0)
    return axis * (math.atan2(sine, cosine) / sine if sine > 0.0 else 1.0)


def nearest_half_turn(angle: float) -> float:
    """The angle in [-pi/2, pi/2) that a two-fingered gripper cannot tell from ``angle``.

    Example:
        >>> round(nearest_half_turn(3.0), 4)
        -0.1416
    """
    return float((angle + np.pi / 2) % np.pi - np.pi / 2)


def thin_yaw(rotation: Vector, half_sizes: Vector) -> float:
    """The direction, in the horizontal plane, in which a box is thinnest.

    Args:
        rotation: The box's rotation matrix (3, 3).
        half_sizes: Its half lengths (3,), m.

    Returns:
        The angle of that edge from the world's x axis, in [-pi/2, pi/2).
    """
    upright = np.abs(rotation[2]) > 0.7  # edges that stand
    axis = rotation[:, np.argmin(np.where(upright, np.inf, half_sizes))]
    return nearest_half_turn(float(np.arctan2(axis[1], axis[0])))


def door_point(hinge: Vector, angle: float, radius: float, depth: float) -> Vector:
    """A point before a door leaf that hangs on a vertical hinge.

    Args:
        hinge: A point on the hinge (3,), m.
        angle: How far the leaf has been closed; at 0 it stands open along -y, at pi/2 it is shut
            along +x.
        radius: Distance from the hinge along the leaf, m.
        depth: Distance from the leaf's outer side, m; negative lies beyond it.

    Returns:
        The point (3,), at the hinge's height.
    """
    along = np.array([np.sin(angle), -np.cos(angle), 0.0])
    outward = np.array([-np.cos(angle), -np.sin(angle), 0.0])
    return np.asarray(hinge + radius * along + depth * outward)


def room(grip: Vector, rotation: Vector, obstacles: Vector) -> float:
    """How much room the open hand has where it would grasp.

    Args:
        grip: Where the fingertips would meet (3,), m.
        rotation: The gripper's axes (3, 3).
        obstacles: Centres of other objects (n, 3), m.

    Returns:
        The smallest distance to an obstacle as a share of the distance that it needs, at most 1.
        Low objects can meet only the fingers, tall ones also the hand, which is wider.

    Example:
        >>> grip, can = np.zeros(3), np.array([[0.06, 0.03, 0.0]])
        >>> room(grip, gripper_rotation(yaw=0.0), can)
        1.0
        >>> round(room(grip, gripper_rotation(yaw=np.pi / 2), can), 2)  # fingers along x
        0.61
    """
    if len(obstacles) == 0:
        return 1.0
    tall = obstacles[:, 2] > grip[2] + _TALL
    reach = np.where(tall, _HAND_REACH, _FINGER_REACH)
    along = np.clip((obstacles - grip)[:, :2] @ rotation[:2, 0], -reach, reach)
    apart = obstacles[:, :2] - grip[:2] - along[:, None] * rotation[:2, 0]
    needed = np.where(tall, _HAND_NEEDS, _FINGERS_NEED)
    return float(np.minimum(np.linalg.norm(apart, axis=1) / needed, 1.0).min())
