"""One controller for all of the expert's motion: the hand goes to a pose."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from wmrl_envs.libero.expert.geometry import Vector, gripper_rotation, rotation_error
from wmrl_envs.libero.expert.workspace import Workspace

__all__ = ["CLOSED", "OPEN", "Actions", "Arm", "pose_action"]

Actions: TypeAlias = Iterator[Vector]
"""The actions of a skill, each (7,); the world is one step further when the next is asked for."""

OPEN = -1.0
CLOSED = 1.0

_GAIN = 30.0
"""Commanded units a metre; the controller moves about 0.3 m/s a unit."""
_TURN_GAIN = 4.0
"""Commanded units a radian."""
_NEARLY_TURNED = 0.06
"""rad."""
_FINGER_STEPS = 12
_STILL_FINGERS = 4e-4
"""m a step."""
_STALLED_STEPS = 6
_STALLED = 0.002
"""m, and five times it in rad: less progress than this in that many steps is none."""


def pose_action(error: Vector, turn: Vector, gripper: float, speed: float = 1.0) -> Vector:
    """The action that brings the hand nearer to a pose.

    Args:
        error: Target minus present position (3,), m.
        turn: Rotation vector to the target orientation (3,), rad, world axes.
        gripper: -1 opens, +1 closes.
        speed: The largest command along a position axis, in (0, 1].

    Returns:
        An action (7,) within [-1, 1].

    Example:
        >>> pose_action(np.array([0.2, 0.01, 0.0]), np.zeros(3), OPEN)
        array([ 1. ,  0.3,  0. ,  0. ,  0. ,  0. , -1. ])
    """
    move = np.clip(error * _GAIN, -speed, speed)
    return np.concatenate([move, np.clip(turn * _TURN_GAIN, -1.0, 1.0), [gripper]])


class Arm:
    """Moves the hand and the fingers.

    Args:
        workspace: What the arm sees.

    Attributes:
        rotation: The orientation to hold (3, 3).
        gripper: The command to the fingers, -1 (open) or +1 (closed).
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.rotation = gripper_rotation()
        self.gripper = OPEN

    def act(self, target: Vector, speed: float = 1.0) -> Vector:
        """One action (7,) towards a position (3,), m, and the orientation to hold."""
        error = target - self.workspace.gripper_position
        turn = rotation_error(self.workspace.gripper_rotation, self.rotation)
        return pose_action(error, turn, self.gripper, speed)

    def move(
        self,
        target: Vector,
        tolerance: float = 0.01,
        *,
        speed: float = 1.0,
        steps: int = 80,
        until: Callable[[], bool] = lambda: False,
        push: bool = False,
    ) -> Actions:
        """Goes to a position (3,), m, and to the orientation to hold.

        Ends when it has arrived, when ``until`` says so, when it is out of ``steps``, or when
        something is in the way, unless it is there to ``push``.
        """
        left: list[Vector] = []
        for _ in range(steps):
            left.append(self._left(target))
            stuck = not push and _stalled(left)
            if self._arrived(left[-1], tolerance) or stuck or until():
                return
            yield self.act(target, speed)

    def wait(self, steps: int) -> Actions:
        """Stays where it is."""
        here = self.workspace.gripper_position
        for _ in range(steps):
            yield self.act(here)

    def open(self) -> Actions:
        """Opens the fingers and waits for them."""
        self.gripper = OPEN
        return self._fingers()

    def close(self) -> Actions:
        """Closes the fingers until they hold something or meet."""
        self.gripper = CLOSED
        return self._fingers()

    def _fingers(self) -> Actions:
        here, gap = self.workspace.gripper_position, self.workspace.finger_gap
        for step in range(_FINGER_STEPS):
            yield self.act(here)
            before, gap = gap, self.workspace.finger_gap
            if step > 2 and abs(before - gap) < _STILL_FINGERS:
                return

    def _left(self, target: Vector) -> Vector:
        """How far the hand is from a pose (2,): m and rad."""
        turn = rotation_error(self.workspace.gripper_rotation, self.rotation)
        distance = np.linalg.norm(target - self.workspace.gripper_position)
        return np.array([distance, np.linalg.norm(turn)])

    @staticmethod
    def _arrived(left: Vector, tolerance: float) -> bool:
        return bool(left[0] < tolerance and left[1] < max(_NEARLY_TURNED, 10 * tolerance))


def _stalled(left: list[Vector]) -> bool:
    """Whether the last steps have brought the hand no nearer."""
    if len(left) <= _STALLED_STEPS:
        return False
    progress = np.abs(left[-1] - left[-1 - _STALLED_STEPS])
    return bool(progress[0] < _STALLED and progress[1] < 5 * _STALLED)
