"""A toy world for skills: a hand that obeys, and objects that stick to closed fingers."""

from collections.abc import Callable, Iterator

import numpy as np

from wmrl_envs.libero.expert.geometry import Vector
from wmrl_envs.libero.expert.workspace import Box

SPEED, TURN = 0.015, 0.15
"""m and rad that one unit of action moves in a step."""
REACH = 0.03
"""The fingers take an object whose centre is this near, m."""


class ToyWorkspace:
    """Offers what :class:`~wmrl_envs.libero.expert.workspace.Workspace` does, without physics."""

    def __init__(self, **positions: tuple[float, float, float]) -> None:
        self.positions = {name: np.array(place) for name, place in positions.items()}
        self.gripper_position = np.array([0.0, 0.0, 0.5])
        self.gripper_rotation = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
        self.finger_gap = 0.08
        self.held: str | None = None
        self.slippery: set[str] = set()
        self.wall = -np.inf
        """The hand cannot go below this height, m."""
        self.boxes: dict[str, Box] = {}
        self.joints: dict[str, float] = {}

    def position(self, name: str) -> Vector:
        return self.positions[name].copy()

    def others(self, name: str) -> Vector:
        return np.array([p for n, p in self.positions.items() if n != name]).reshape(-1, 3)

    def box(self, name: str) -> Box:
        return self.boxes[name]

    def joint(self, name: str) -> float:
        return self.joints[name]

    def step(self, action: Vector) -> None:
        before = self.gripper_position.copy()
        self.gripper_position = before + SPEED * action[:3]
        self.gripper_position[2] = max(self.gripper_position[2], self.wall)
        self._turn(TURN * action[3:6])
        self._grip(action[6])
        if self.held:
            self.positions[self.held] += self.gripper_position - before

    def _turn(self, vector: Vector) -> None:
        from scipy.spatial.transform import Rotation

        self.gripper_rotation = Rotation.from_rotvec(vector).as_matrix() @ self.gripper_rotation

    def _grip(self, command: float) -> None:
        self.finger_gap = float(np.clip(self.finger_gap - 0.01 * command, 0.0, 0.08))
        if command < 0:
            self.held = None
        elif self.finger_gap < 0.04 and self.held is None:
            self.held = self._within_reach()

    def _within_reach(self) -> str | None:
        for name, place in self.positions.items():
            near = np.linalg.norm(place - self.gripper_position) < REACH
            if near and name not in self.slippery:
                return name
        return None


def play(
    world: ToyWorkspace, actions: Iterator[Vector], each: Callable[[], None] = lambda: None
) -> list[Vector]:
    """Lets the hand obey the actions of a skill; returns where it was after each."""
    places = []
    for action in actions:
        world.step(action)
        places.append(world.gripper_position.copy())
        each()
    return places
