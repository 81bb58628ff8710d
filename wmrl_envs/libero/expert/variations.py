"""Plans that go wrong on purpose, for demonstrations that are not all alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero.expert.arm import Actions, Arm
from wmrl_envs.libero.expert.plans import Plan, Step
from wmrl_envs.libero.expert.skills import Grasp, Offset, Place, Skill

__all__ = ["FAILURES", "Failure", "Release", "failing", "shifted_grasps"]

Failure: TypeAlias = Literal["drop", "miss", "misplace", "stop"]
"""Ways to fail: lift an object and let it fall; close the fingers beside it; put it down elsewhere;
stop part of the way."""

FAILURES: tuple[Failure, ...] = get_args(Failure)

_Shift: TypeAlias = Sequence[float] | NDArray[np.float64]
"""Two lengths, along x and y, m."""

_BESIDE = 0.07
"""How far from the object a hand closes that misses it, m."""
_ELSEWHERE = 0.15
"""How far from its place an object is put down, m."""


@dataclass(frozen=True)
class Release:
    """Opens the fingers wherever the hand is."""

    def actions(self, arm: Arm, done: Callable[[], bool]) -> Actions:
        """Opens and waits until the object has fallen."""
        yield from arm.open()
        yield from arm.wait(10)


def shifted_grasps(plan: Plan, shift: _Shift) -> Plan:
    """The plan with every grasp off by a constant.

    Args:
        plan: The plan.
        shift: The error (2,) along the world's x and y, m.
    """
    return tuple(
        replace(
            step, skills=[_shifted(s, shift) if isinstance(s, Grasp) else s for s in step.skills]
        )
        for step in plan
    )


def failing(plan: Plan, failure: Failure, rng: np.random.Generator) -> Plan:
    """A plan that does not reach the task's goal.

    Args:
        plan: The plan of a task.
        failure: The way to fail.
        rng: Chooses the object and the direction, so that the plans get differently far.

    Returns:
        The plan up to its fault.

    Raises:
        ValueError: The failure is unknown.
    """
    if failure not in FAILURES:
        raise ValueError(f"failure must be one of {FAILURES}, got {failure!r}")
    if failure == "stop":
        return _cut(plan, int(rng.integers(1, len(_skills(plan)))))
    kind = Place if failure == "misplace" else Grasp
    places = [i for i, skill in enumerate(_skills(plan)) if isinstance(skill, kind)]
    index = int(rng.choice(places))
    return _cut(plan, index, _faulty(_skills(plan)[index], failure, rng))


def _faulty(skill: Skill, failure: Failure, rng: np.random.Generator) -> list[Skill]:
    """What is done in the place of a skill."""
    angle = rng.uniform(0, 2 * np.pi)
    away = np.array([np.cos(angle), np.sin(angle)])
    if failure == "miss" and isinstance(skill, Grasp):
        return [_shifted(replace(skill, offsets=skill.offsets[:1]), _BESIDE * away)]
    if failure == "misplace" and isinstance(skill, Place):
        return [replace(skill, offset=_moved(skill.offset, _ELSEWHERE * away))]
    return [skill, Release()]


def _shifted(grasp: Grasp, shift: _Shift) -> Grasp:
    return replace(grasp, offsets=[_moved(offset, shift) for offset in grasp.offsets])


def _moved(offset: Offset, shift: _Shift) -> Offset:
    return (offset[0] + float(shift[0]), offset[1] + float(shift[1]), offset[2])


def _skills(plan: Plan) -> list[Skill]:
    return [skill for step in plan for skill in step.skills]


def _cut(plan: Plan, count: int, end: Sequence[Skill] = ()) -> Plan:
    """The first ``count`` skills of a plan, then ``end``."""
    kept: list[Step] = []
    for step in plan:
        if count < len(step.skills):
            return (*kept, replace(step, skills=[*step.skills[:count], *end]))
        kept.append(step)
        count -= len(step.skills)
    return tuple(kept)
