"""Stock LIBERO, and actions that make a robot run into things, for the tests of our own LIBERO."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero import stock
from wmrl_envs.libero.suites import LiberoTask


def clumsy_actions(n: int, seed: int = 0) -> NDArray[np.float64]:
    """(n, 7): random directions, held for 8 steps each, mostly downwards, some without turns."""
    rng = np.random.default_rng(seed)
    actions = np.repeat(rng.uniform(-1.0, 1.0, (-(-n // 8), 7)), 8, axis=0)[:n]
    actions[:, 2] -= 0.3
    actions[:, 6] = np.sign(actions[:, 6])
    actions[::16, 3:6] = 0.0
    return np.clip(actions, -1.0, 1.0)


def stock_env(task: LiberoTask, cameras: bool = False, size: int = 64) -> Any:
    """A fresh stock environment, seeded and reset as an evaluation script does it."""
    stock.simulator()
    from libero.libero.envs.env_wrapper import ControlEnv

    with stock.silence():
        env = ControlEnv(
            bddl_file_name=str(task.bddl_file),
            has_offscreen_renderer=cameras,
            use_camera_obs=cameras,
            camera_heights=size,
            camera_widths=size,
        )
        env.seed(0)
        env.reset()
    return env


def state_of(sim: Any) -> NDArray[np.float64]:
    """Time, positions and velocities of anything with ``data``."""
    return np.concatenate([[sim.data.time], sim.data.qpos, sim.data.qvel])
