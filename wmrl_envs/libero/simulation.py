"""One task's simulator: the stock LIBERO problem, with an exact reset and fast steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero import stock
from wmrl_envs.libero.control import ControlState, OperationalSpaceControl
from wmrl_envs.libero.suites import LiberoTask

__all__ = ["Scene", "Simulation", "Snapshot"]

_Array = NDArray[np.float64]
_PLACEMENTS = 100


@dataclass(frozen=True)
class Scene:
    """What a picture shows: enough to render a moment later, or somewhere else.

    Attributes:
        positions: (nq,), joint positions.
        site_alphas: (nsite,), float32, opacity of the sites; a stove's flame is one.
    """

    positions: _Array
    site_alphas: NDArray[np.float32]


@dataclass(frozen=True)
class Snapshot:
    """One moment of a simulation, to go back to.

    Attributes:
        physics: MuJoCo's integration state.
        control: The controller's memory.
        scene: What is seen: positions are those of the simulator's derived quantities.
        visible: The switches of the fixtures' visible parts, by fixture.
    """

    physics: _Array
    control: ControlState
    scene: Scene
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
        data: The ``mujoco.MjData``.
    """

    def __init__(self, task: LiberoTask, fixture_seed: int = 0) -> None:
        import mujoco

        self.task = task
        self.domain = _fresh_domain(task, fixture_seed)
        self.model: Any = self.domain.sim.model._model
        self.data: Any = self.domain.sim.data._data
        self._mujoco = mujoco
        self._kind = mujoco.mjtState.mjSTATE_INTEGRATION
        self._control = OperationalSpaceControl(self.domain)
        self._seen = self.data.qpos.copy()
        self._beginning = self.snapshot()

    def start(self, initial_state: _Array) -> None:
        """Starts from a recorded state, as a fresh stock environment would.

        Args:
            initial_state: (1 + nq + nv,), time, positions and velocities.
        """
        self._mujoco.mj_resetData(self.model, self.data)
        self.restore(self._beginning)
        nq = self.model.nq
        self.data.time = initial_state[0]
        self.data.qpos[:] = initial_state[1 : 1 + nq]
        self.data.qvel[:] = initial_state[1 + nq :]
        self._mujoco.mj_forward(self.model, self.data)
        self._seen = self.data.qpos.copy()
        self.refresh_visuals()

    def step(self, action: _Array) -> bool:
        """Advances by one control step (0.05 s, 25 substeps).

        Args:
            action: (7,), float64, see ``LiberoEnv``; clipped to [-1, 1].

        Returns:
            Is the task's goal reached?
        """
        self._seen = self._control.step(action)
        return self.refresh_visuals()

    def refresh_visuals(self) -> bool:
        """Shows what the state implies (a stove's flame); returns whether the goal is reached."""
        success = bool(self.domain._check_success())
        self.domain._post_process()
        return success

    def scene(self) -> Scene:
        """What a picture of this moment shows.

        As in stock LIBERO, pictures and poses lag the state by the last substep, 2 ms.
        """
        return Scene(self._seen, self.model.site_rgba[:, 3].copy())

    def snapshot(self) -> Snapshot:
        """The present moment, to be given to :meth:`restore`."""
        physics = np.empty(self._mujoco.mj_stateSize(self.model, self._kind))
        self._mujoco.mj_getState(self.model, self.data, physics, self._kind)
        return Snapshot(physics, self._control.state, self.scene(), self._visible())

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to a moment; what follows is bitwise what followed then."""
        self.data.qpos[:] = snapshot.scene.positions
        self._mujoco.mj_fwdPosition(self.model, self.data)
        self._mujoco.mj_setState(self.model, self.data, snapshot.physics, self._kind)
        self.model.site_rgba[:, 3] = snapshot.scene.site_alphas
        for name, parts in snapshot.visible.items():
            self.domain.get_object(name).object_properties["vis_site_names"].update(parts)
        self._control.state, self._seen = snapshot.control, snapshot.scene.positions

    def close(self) -> None:
        """Frees the stock environment; may be called twice."""
        if self.domain is not None:
            self.domain.close()
            self.domain = self.model = self.data = None

    def _visible(self) -> dict[str, dict[str, tuple[str, bool]]]:
        return {
            name: dict(self.domain.get_object(name).object_properties["vis_site_names"])
            for name in self.domain.visualization_sites_list
        }


def _fresh_domain(task: LiberoTask, seed: int) -> Any:
    """A robosuite environment without renderer, seeded and reset as an evaluation script does."""
    libero = stock.simulator()
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
