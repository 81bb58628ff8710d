"""A task's simulator, its cameras and the moments that its episodes start from."""

import contextlib
import ctypes
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from wmrl_envs.libero.cameras import Cameras
from wmrl_envs.libero.settings import Settings
from wmrl_envs.libero.simulation import Simulation, Snapshot
from wmrl_envs.libero.suites import LiberoTask

__all__ = ["Stage", "Stages"]

_NOTHING = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
"""The action that holds the arm still and the gripper open."""

_STILL = 0.01
"""Objects slower than this, in m/s and rad/s, are at rest."""

_LEAST_STEPS, _MOST_STEPS = 10, 60


@dataclass(frozen=True)
class Start:
    """The settled beginning of an episode.

    Attributes:
        moment: The snapshot to start from.
        steps: Control steps that it took to come to rest.
    """

    moment: Snapshot
    steps: int


class Stage:
    """Everything that one task's episodes need; the simulator is made at once.

    Args:
        task: The task.
        settings: The environment's settings.
    """

    def __init__(self, task: LiberoTask, settings: Settings) -> None:
        self.simulation = Simulation(task, settings.fixture_seed)
        self.cameras = Cameras(self.simulation, settings.multisampling)
        self._settle = settings.settle
        self._starts: dict[int, Start] = {}

    def start(self, state: int) -> int:
        """Starts from an initial state, at rest; the second time costs less than a millisecond.

        Returns:
            The number of control steps that the objects took to come to rest.
        """
        if state not in self._starts:
            self.simulation.start(self.simulation.task.initial_states()[state])
            steps = self._come_to_rest()
            self._starts[state] = Start(self.simulation.snapshot(), steps)
        start = self._starts[state]
        self.simulation.restore(start.moment)
        return start.steps

    def close(self) -> None:
        """Frees the simulator and the cameras; may be called twice."""
        self.cameras.close()
        self.simulation.close()

    def _come_to_rest(self) -> int:
        least, most = self._bounds()
        for step in range(most):
            if step >= least and self.simulation.still(_STILL):
                return step
            self.simulation.step(_NOTHING)
        return most

    def _bounds(self) -> tuple[int, int]:
        if isinstance(self._settle, int):
            return self._settle, self._settle
        return _LEAST_STEPS, _MOST_STEPS


class Stages:
    """Stages by task; the least recently used one is closed when there are too many."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stages: OrderedDict[int, Stage] = OrderedDict()

    def of(self, task_id: int) -> Stage:
        """The stage of a task, made at its first use."""
        if task_id not in self._stages:
            task = self._settings.task(task_id)
            while len(self._stages) >= self._settings.simulators:
                self._stages.popitem(last=False)[1].close()
            self._stages[task_id] = Stage(task, self._settings)
            self._forget_assets()
        self._stages.move_to_end(task_id)
        return self._stages[task_id]

    def _forget_assets(self) -> None:
        """Empties MuJoCo's cache of meshes and textures if no other task will need it."""
        if len(self._settings.tasks) == len(self._stages):
            import mujoco

            if hasattr(mujoco, "mj_clearCache"):
                mujoco.mj_clearCache(mujoco.mj_getCache())
                _return_memory()

    def close(self) -> None:
        """Closes all; may be called twice."""
        while self._stages:
            self._stages.popitem()[1].close()


def _return_memory() -> None:
    """Makes the C library give back what was freed: half a gigabyte after a model was compiled."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
