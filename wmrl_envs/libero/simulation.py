"""One task's simulator: the stock LIBERO problem, with an exact reset and fast steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero import stock
from wmrl_envs.libero.control import ControlState, OperationalSpaceControl, Sample
from wmrl_envs.libero.suites import LiberoTask

__all__ = ["Scene", "Simulation", "Snapshot"]

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scene:
    """What is observed of one moment: enough for a picture later, or of another camera.

    Attributes:
        sample: Positions and velocities.
        site_alphas: (nsite,), float32, opacity of the sites; a stove's flame is one.
    """

    sample: Sample
    site_alphas: NDArray[np.float32]


@dataclass(frozen=True)
class Snapshot:
    """One moment of a simulation, to go back to.

    Attributes:
        physics: MuJoCo's integration state.
        control: The controller's memory.
        scene: What is observed.
        site_alphas: (nsite,), float32, what the next scene will show of them.
        visible: The switches of the fixtures' visible parts, by fixture.
    """

    physics: _Array
    control: ControlState
    scene: Scene
    site_alphas: NDArray[np.float32]
    visible: dict[str, dict[str, tuple[str, bool]]]


class Simulation:
    """Simulates one LIBERO task.

    States are bitwise those of the stock environment, made fresh, seeded with ``fixture_seed``,
    reset, and set to the same initial state. Of stock LIBERO it uses the model and the predicates;
    the resets and steps are its own.

    Args:
        task: The task.
        fixture_seed: Seed of the fixtures' poses (stove, cabinet, ...), which LIBERO's initial
            states do not hold.

    Attributes:
        task: The task.
        domain: The robosuite environment, for what this class does not offer. Do not step it.
        model: The ``mujoco.MjModel``.
        data: The ``mujoco.MjData``; as in stock LIBERO its poses and contacts are those before the
            last substep, 2 ms old.
        scene: What is observed of the present moment.
    """

    def __init__(self, task: LiberoTask, fixture_seed: int = 0) -> None:
        import mujoco

        self.task = task
        self.domain = _fresh_domain(task, fixture_seed)
        self.model: Any = self.domain.sim.model._model
        self.data: Any = self.domain.sim.data._data
        self._mujoco = mujoco
        self._kind = mujoco.mjtState.mjSTATE_INTEGRATION
        # Nobody reads the wrist's force and torque, which cost a pass of inverse dynamics a step.
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
        self._control = OperationalSpaceControl(self.domain)
        self._scratch: Any = None
        self.scene = self._present()
        self._beginning = self.snapshot()

    def start(self, initial_state: _Array) -> bool:
        """Starts from a recorded state, as a fresh stock environment would.

        Args:
            initial_state: (1 + nq + nv,), time, positions and velocities.

        Returns:
            Is the task's goal reached already?
        """
        self._mujoco.mj_resetData(self.model, self.data)
        self.restore(self._beginning)
        nq = self.model.nq
        self.data.time = initial_state[0]
        self.data.qpos[:] = initial_state[1 : 1 + nq]
        self.data.qvel[:] = initial_state[1 + nq :]
        self._mujoco.mj_forward(self.model, self.data)
        success = self._refresh()
        self.scene = self._present()
        return success

    def step(self, action: _Array) -> bool:
        """Advances by one control step (0.05 s, 25 substeps).

        Args:
            action: (7,), float64, see ``LiberoEnv``; clipped to [-1, 1].

        Returns:
            Is the task's goal reached?
        """
        self.scene = Scene(self._control.step(action), self._site_alphas())
        return self._refresh()

    def snapshot(self) -> Snapshot:
        """The present moment, to be given to :meth:`restore`."""
        physics = np.empty(self._mujoco.mj_stateSize(self.model, self._kind))
        self._mujoco.mj_getState(self.model, self.data, physics, self._kind)
        visible = {name: dict(parts) for name, parts in self._visible_parts()}
        return Snapshot(physics, self._control.state, self.scene, self._site_alphas(), visible)

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to a moment; what follows is bitwise what followed then."""
        # The simulator's poses and contacts are those before the last substep.
        self.data.qpos[:] = snapshot.scene.sample.positions
        self._mujoco.mj_fwdPosition(self.model, self.data)
        self._mujoco.mj_setState(self.model, self.data, snapshot.physics, self._kind)
        self.model.site_rgba[:, 3] = snapshot.site_alphas
        for name, parts in self._visible_parts():
            parts.update(snapshot.visible[name])
        self._control.state, self.scene = snapshot.control, snapshot.scene

    def posed(self, scene: Scene) -> Any:
        """A ``mujoco.MjData`` with the poses of a scene; the next call overwrites it."""
        if self._scratch is None:
            self._scratch = self._mujoco.MjData(self.model)
        self._scratch.qpos[:] = scene.sample.posed
        self._mujoco.mj_kinematics(self.model, self._scratch)
        return self._scratch

    def still(self, tolerance: float) -> bool:
        """Does nothing but the robot move faster than this (m/s, rad/s)?"""
        robot = self.domain.robots[0]
        count = len(robot._ref_joint_vel_indexes) + len(robot._ref_gripper_joint_vel_indexes)
        return bool(np.all(np.abs(self.data.qvel[count:]) < tolerance))

    def close(self) -> None:
        """Frees the stock environment; may be called twice."""
        if self.domain is not None:
            self.domain.close()
            self.domain = self.model = self.data = self._scratch = None

    def _refresh(self) -> bool:
        """Shows what the state implies (a stove's flame); returns whether the goal is reached."""
        success = bool(self.domain._check_success())
        self.domain._post_process()
        return success

    def _present(self) -> Scene:
        positions, velocities = self.data.qpos.copy(), self.data.qvel.copy()
        return Scene(Sample(positions, positions, velocities), self._site_alphas())

    def _site_alphas(self) -> NDArray[np.float32]:
        return np.array(self.model.site_rgba[:, 3])

    def _visible_parts(self) -> Iterator[tuple[str, dict[str, tuple[str, bool]]]]:
        for name in self.domain.visualization_sites_list:
            yield name, self.domain.get_object(name).object_properties["vis_site_names"]


def _fresh_domain(task: LiberoTask, seed: int) -> Any:
    """A robosuite environment without renderer, seeded and reset as an evaluation script does."""
    stock.simulator()
    from libero.libero.envs.env_wrapper import ControlEnv

    with _seeded_numpy(seed), stock.silence():
        env = ControlEnv(
            bddl_file_name=str(task.bddl_file), has_offscreen_renderer=False, use_camera_obs=False
        )
        np.random.seed(seed)
        env.env.reset()
    return env.env


@contextmanager
def _seeded_numpy(seed: int) -> Iterator[None]:
    """LIBERO draws from numpy's global generator: give it a seed, then the caller's state back."""
    state = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(state)
