"""What the expert sees: true poses and goal predicates, read from the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmrl_envs.libero.expert.geometry import Vector

__all__ = ["Box", "Workspace"]

_GRIP_SITE = "gripper0_grip_site"
_FINGERS = ("gripper0_finger_joint1", "gripper0_finger_joint2")


@dataclass(frozen=True)
class Box:
    """A collision box: centre (3,) in m, rotation (3, 3) and half lengths (3,) in m."""

    centre: Vector
    rotation: Vector
    half_sizes: Vector


class Workspace:
    """Reads the privileged state of one simulated LIBERO task.

    Args:
        world: LIBERO's task environment (a ``BDDLBaseDomain``), with its simulator.
    """

    def __init__(self, world: Any) -> None:
        self._world = world

    @property
    def gripper_position(self) -> Vector:
        """Where the fingertips meet (3,), m."""
        return self._sites("xpos", _GRIP_SITE)

    @property
    def gripper_rotation(self) -> Vector:
        """The gripper's axes in world coordinates (3, 3)."""
        return self._sites("xmat", _GRIP_SITE).reshape(3, 3)

    @property
    def finger_gap(self) -> float:
        """The distance between the fingers, m."""
        left, right = (self._world.sim.data.get_joint_qpos(joint) for joint in _FINGERS)
        return float(left - right)

    def position(self, name: str) -> Vector:
        """The position (3,), in m, of an object, a fixture or a region of the task."""
        body = self._world.obj_body_id.get(name)
        if body is None:
            return self._sites("xpos", name)
        return np.array(self._world.sim.data.body_xpos[body])

    def joint(self, name: str) -> float:
        """The position of a hinge (rad) or a slide (m)."""
        return float(self._world.sim.data.get_joint_qpos(name))

    def others(self, name: str) -> Vector:
        """The positions (n, 3), in m, of the other movable objects."""
        names = [other for other in self._world.objects_dict if other != name]
        return np.array([self.position(other) for other in names]).reshape(-1, 3)

    def box(self, name: str) -> Box:
        """The first collision geometry of an object, as a box."""
        model, data = self._world.sim.model, self._world.sim.data
        body = self._world.obj_body_id[name]
        inside = model.body_rootid[model.geom_bodyid] == model.body_rootid[body]
        geom = int(np.flatnonzero(inside & (model.geom_contype > 0))[0])
        return Box(
            np.array(data.geom_xpos[geom]),
            np.array(data.geom_xmat[geom]).reshape(3, 3),
            np.array(model.geom_size[geom]),
        )

    def holds(self, predicate: Sequence[str]) -> bool:
        """Whether a goal predicate, such as ``("on", "mug", "plate")``, is true now."""
        return bool(self._world._eval_predicate(list(predicate)))

    def _sites(self, what: str, name: str) -> Vector:
        sim = self._world.sim
        return np.array(getattr(sim.data, f"site_{what}")[sim.model.site_name2id(name)])
