"""What a task's goal still lacks: privileged knowledge, for experts, tests and progress models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero.simulation import Simulation

__all__ = ["Goal", "Progress", "progress"]

_Array = NDArray[np.float64]

_UP = 1.0
"""Height in metres above which LIBERO calls an object up."""

_JOINT_RANGES = {
    "open": "default_open_ranges",
    "close": "default_close_ranges",
    "turnon": "default_turnon_ranges",
    "turnoff": "default_turnoff_ranges",
}


@dataclass(frozen=True)
class Goal:
    """One predicate of a task's goal, all of which must hold at once.

    Attributes:
        predicate: ``in``, ``on``, ``up``, ``open``, ``close``, ``turnon`` or ``turnoff``.
        arguments: What it speaks of: an object and perhaps the region or object that it should be
            in or on.
        satisfied: Does it hold?
        distance: 0.0 where it holds; else metres from the object's origin to its target's, or how
            far a joint has yet to move (rad for doors and knobs, m for drawers).
    """

    predicate: str
    arguments: tuple[str, ...]
    satisfied: bool
    distance: float


@dataclass(frozen=True)
class Progress:
    """What is true of one moment.

    Attributes:
        goals: The goal's predicates, in the task's order.
        hand: (7,), the point between the fingertips: position in metres, orientation as a
            quaternion (x, y, z, w), in the world.
        poses: The same of every object and fixture, by name.
        regions: (3,), positions of the regions (a drawer's inside, a stove's plate), by name.
    """

    goals: tuple[Goal, ...]
    hand: _Array
    poses: Mapping[str, _Array]
    regions: Mapping[str, _Array]

    @property
    def fraction(self) -> float:
        """The share of the goal's predicates that hold; 1.0 is success."""
        return sum(goal.satisfied for goal in self.goals) / len(self.goals)


def progress(simulation: Simulation) -> Progress:
    """Reads the present moment of a simulation, without changing it."""
    domain, data = simulation.domain, simulation.data
    hand = domain.robots[0].eef_site_id
    return Progress(
        goals=tuple(_goal(simulation, terms) for terms in domain.parsed_problem["goal_state"]),
        hand=np.concatenate([data.site_xpos[hand], _quaternion(data.site_xmat[hand])]),
        poses={
            name: np.concatenate([data.xpos[body], np.roll(data.xquat[body], -1)])
            for name, body in domain.obj_body_id.items()
        },
        regions={name: np.array(data.site(name).xpos) for name in domain.object_sites_dict},
    )


def _goal(simulation: Simulation, terms: Sequence[str]) -> Goal:
    predicate, arguments = terms[0].lower(), tuple(terms[1:])
    satisfied = bool(simulation.domain._eval_predicate(terms))
    distance = 0.0 if satisfied else _distance(simulation, predicate, arguments)
    return Goal(predicate, arguments, satisfied, distance)


def _distance(simulation: Simulation, predicate: str, arguments: Sequence[str]) -> float:
    place = [_position(simulation, name) for name in arguments]
    if predicate in _JOINT_RANGES:
        return _joint_distance(simulation, predicate, arguments[0])
    if len(place) == 2:
        return float(np.linalg.norm(place[0] - place[1]))
    return max(0.0, _UP - float(place[0][2]))


def _position(simulation: Simulation, name: str) -> _Array:
    domain, data = simulation.domain, simulation.data
    if name in domain.obj_body_id:
        return np.array(data.xpos[domain.obj_body_id[name]])
    return np.array(data.site(name).xpos)


def _joint_distance(simulation: Simulation, predicate: str, name: str) -> float:
    """To the nearest joint where one suffices (open, on), to the farthest where all must move."""
    domain = simulation.domain
    part = domain.get_object(name)
    whole = domain.get_object(part.parent_name) if hasattr(part, "parent_name") else part
    low, high = sorted(whole.object_properties["articulation"][_JOINT_RANGES[predicate]])
    values = [float(simulation.data.joint(joint).qpos[0]) for joint in part.joints]
    distances = [max(low - value, value - high, 0.0) for value in values]
    return min(distances) if predicate in ("open", "turnon") else max(distances)


def _quaternion(matrix: _Array) -> _Array:
    import mujoco

    wxyz = np.empty(4)
    mujoco.mju_mat2Quat(wxyz, matrix)
    return np.roll(wxyz, -1)
