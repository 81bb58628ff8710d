"""The expert's skills: declarative dataclasses that an arm turns into actions.

Positions are offsets, in metres along the world's axes, from objects, fixtures and regions. The yaw
of LIBERO's objects is the same in all initial states of a task (the book's apart, which is grasped
and placed by its box).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from wmrl_envs.libero.expert.arm import CLOSED, OPEN, Actions, Arm
from wmrl_envs.libero.expert.geometry import (
    Vector,
    door_point,
    gripper_rotation,
    nearest_half_turn,
    room,
    thin_yaw,
)

__all__ = ["Grasp", "Offset", "Place", "Push", "Skill", "SkillFailed", "SwingDoor"]

Offset: TypeAlias = tuple[float, float, float]

_RISEN = 0.5
"""A grasp holds if the object rose by this share of the hand's lift."""


_REACHED = 0.02
"""A hand that is further from where it should grasp has met something else, m."""


class SkillFailed(Exception):
    """A skill saw that it did not reach what the next one needs."""


class Skill(Protocol):
    """Something that the arm can do."""

    def actions(self, arm: Arm, done: Callable[[], bool]) -> Actions:
        """The actions; ``done`` says whether the step's goal already holds."""
        ...


@dataclass(frozen=True)
class Grasp:
    """Takes an object and lifts it; tries the next grip when it slips or something is in the way.

    The grips are all pairs of ``offsets`` and ``twists`` (added to ``yaw``), those with room beside
    other objects first.
    """

    what: str
    offsets: Sequence[Offset]
    lift: float = 0.15
    yaw: float = 0.0
    twists: Sequence[float] = (0.0,)
    hover: float = 0.06
    by_box: bool = False

    def actions(self, arm: Arm, done: Callable[[], bool]) -> Actions:
        """Approaches from above, closes the fingers, lifts."""
        start = arm.workspace.position(self.what)[2]
        for offset, twist in self._grips(arm):
            yield from self._take(arm, offset, twist)
            if arm.workspace.position(self.what)[2] > start + _RISEN * self.lift:
                return
            yield from arm.open()
        raise SkillFailed(f"{self.what} is not held")

    def _grips(self, arm: Arm) -> list[tuple[Vector, float]]:
        def space(grip: tuple[Vector, float]) -> float:
            point, rotation = self._pose(arm, *grip)
            return room(point, rotation, obstacles)

        obstacles = arm.workspace.others(self.what)
        pairs = [(np.array(offset), twist) for twist in self.twists for offset in self.offsets]
        return sorted(pairs, key=space, reverse=True)

    def _pose(self, arm: Arm, offset: Vector, twist: float) -> tuple[Vector, Vector]:
        centre, yaw = _reference(arm, self.what, self.by_box, self.yaw, across=True)
        return centre + offset, gripper_rotation(yaw + twist)

    def _take(self, arm: Arm, offset: Vector, twist: float) -> Actions:
        arm.gripper = OPEN
        grip, arm.rotation = self._pose(arm, offset, twist)
        above = grip + np.array([0.0, 0.0, self.hover])
        high = np.array([*above[:2], max(above[2], arm.workspace.gripper_position[2])])
        yield from arm.move(high, 0.02)
        yield from arm.move(above, 0.012)
        yield from arm.move(grip, 0.005, steps=40)
        if np.linalg.norm(grip - arm.workspace.gripper_position) < _REACHED:
            yield from arm.close()
        lifted = arm.workspace.gripper_position + np.array([0.0, 0.0, self.lift])
        yield from arm.move(lifted, 0.02, steps=40)


@dataclass(frozen=True)
class Place:
    """Carries the object in hand to a place and lets it go."""

    what: str
    where: str
    offset: Offset
    via: Sequence[Offset] = ((0.0, 0.0, 0.15),)
    retreat: Offset = (0.0, 0.0, 0.12)
    yaw: float = 0.0
    tilt: float = 0.0
    speed: float = 1.0
    tolerance: float = 0.01
    by_box: bool = False

    def actions(self, arm: Arm, done: Callable[[], bool]) -> Actions:
        """Goes by the ``via`` points, lowers, opens the fingers, retreats."""
        _, yaw = _reference(arm, self.what, self.by_box, self.yaw, across=False)
        arm.rotation = gripper_rotation(yaw, self.tilt)
        goal = arm.workspace.position(self.where) + self.offset
        for offset in self.via:
            yield from arm.move(self._hand(arm, goal + offset), 0.012, speed=self.speed)
        hand = self._hand(arm, goal)
        yield from arm.move(hand, self.tolerance, speed=self.speed, steps=60)
        yield from arm.open()
        yield from arm.move(arm.workspace.gripper_position + self.retreat, 0.04, steps=30)

    def _hand(self, arm: Arm, goal: Vector) -> Vector:
        """Where the hand must go for the object to come to ``goal``."""
        centre, _ = _reference(arm, self.what, self.by_box, 0.0, across=False)
        return arm.workspace.gripper_position + goal - centre


@dataclass(frozen=True)
class Push:
    """Goes with closed fingers along offsets from a thing, until the step's goal holds."""

    where: str
    path: Sequence[Offset]
    yaw: float = 0.0
    tilt: float = 0.0
    tolerance: float = 0.012

    def actions(self, arm: Arm, done: Callable[[], bool]) -> Actions:
        """Follows the path."""
        arm.gripper = CLOSED
        arm.rotation = gripper_rotation(self.yaw, self.tilt)
        base = arm.workspace.position(self.where)
        for offset in self.path:
            yield from arm.move(base + offset, self.tolerance, until=done, push=True)


@dataclass(frozen=True)
class SwingDoor:
    """Closes a door whose joint is 0 when shut, by following its outer side round the hinge."""

    door: str
    joint: str
    hinge: Offset
    radius: float

    def actions(self, arm: Arm, done: Callable[[], bool]) -> Actions:
        """Goes before the leaf and sweeps it shut."""
        arm.gripper = CLOSED
        start = np.pi / 2 + arm.workspace.joint(self.joint)
        arm.rotation = gripper_rotation(start)
        before = self._point(arm, start, 0.10)
        yield from arm.move(before + np.array([0.0, 0.0, 0.15]), 0.03)
        yield from arm.move(before, 0.03)
        for angle in np.append(np.arange(start, np.pi / 2, 0.25), np.pi / 2):
            arm.rotation = gripper_rotation(angle)
            yield from arm.move(self._point(arm, angle, -0.01), 0.03, steps=25, until=done)
        yield from arm.move(self._point(arm, np.pi / 2, -0.05), 0.01, steps=50, until=done)

    def _point(self, arm: Arm, angle: float, depth: float) -> Vector:
        hinge = arm.workspace.position(self.door) + self.hinge
        return door_point(hinge, angle, self.radius, depth)


def _reference(
    arm: Arm, what: str, by_box: bool, yaw: float, *, across: bool
) -> tuple[Vector, float]:
    """The point of an object that offsets start from, and the hand's yaw.

    By its box: the box's centre, and the yaw that grips across (or keeps) its thin side.
    """
    if not by_box:
        return arm.workspace.position(what), yaw
    box = arm.workspace.box(what)
    thin = thin_yaw(box.rotation, box.half_sizes)
    if across:
        return box.centre, nearest_half_turn(thin - np.pi / 2)
    axis = arm.workspace.gripper_rotation[:, 0]
    now = float(np.arctan2(axis[1], axis[0])) - np.pi / 2
    return box.centre, now + nearest_half_turn(yaw - thin)
