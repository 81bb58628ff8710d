"""The life of one LIBERO environment, stock or ours, each phase timed: it fills a process alone."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.benchmarks.throughput.side_by_side import Cost

__all__ = ["Life", "Script"]

_WARM_UP = 8
_CHUNK = 8
_SIZE = 128
_TWO = ("agentview", "robot0_eye_in_hand")


@dataclass(frozen=True)
class Script:
    """What a life does.

    Attributes:
        task_id: The task of ``libero_10``.
        steps: Steps that are timed.
        episode: Control steps of an episode.
    """

    task_id: int
    steps: int
    episode: int

    def actions(self, n: int) -> np.ndarray:
        """(n, 7), float64: random, with small steps."""
        actions = np.random.default_rng(0).normal(0.0, 0.5, (n, 7))
        return np.clip(actions, -1.0, 1.0)


class Life:
    """Times phases.

    Example:
        >>> life = Life()
        >>> with life.phase("nothing", units=2):
        ...     pass
        >>> life.costs["nothing"].units
        2
    """

    def __init__(self) -> None:
        self.costs: dict[str, Cost] = {}

    @contextmanager
    def phase(self, name: str, units: float = 1) -> Iterator[None]:
        """Times what is done within, as so many units."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.costs[name] = Cost(time.perf_counter() - wall, time.process_time() - cpu, units)

    def remember_memory(self) -> dict[str, Cost]:
        """The costs, each with the memory that the process holds now, in MiB."""
        held = _held_mb()
        return {name: replace(cost, peak_mb=held) for name, cost in self.costs.items()}


def stock_with_cameras(script: Script) -> dict[str, Cost]:
    """Stock LIBERO with its two cameras, as evaluation scripts use it."""
    return _stock(script, cameras=True)


def stock_without_cameras(script: Script) -> dict[str, Cost]:
    """Stock LIBERO without a renderer."""
    return _stock(script, cameras=False)


def ours_with_cameras(script: Script) -> dict[str, Cost]:
    """Ours with the same two cameras, observed in every step."""
    return _ours(script, observation="pixels", cameras=_TWO)


def ours_without_cameras(script: Script) -> dict[str, Cost]:
    """Ours with the state as observation."""
    return _ours(script, observation="state")


def ours_in_chunks(script: Script) -> dict[str, Cost]:
    """Ours with one camera and chunks of eight actions, as a policy of today asks for it."""
    return _ours(script, observation="pixels", action_chunk=_CHUNK)


def _stock(script: Script, cameras: bool) -> dict[str, Cost]:
    from wmrl_envs.libero import stock
    from wmrl_envs.libero.suites import suite

    task, life = suite("libero_10")[script.task_id], Life()
    state = task.initial_states()[0]
    with life.phase("construction"), stock.silence():
        stock.simulator()
        env = _stock_env(task, cameras)
        _stock_reset(env, state)
    _stock_steps(env, script.actions(_WARM_UP))
    with life.phase("step", script.steps):
        _stock_steps(env, script.actions(script.steps))
    with life.phase("reset"):
        _stock_reset(env, state)
    with life.phase("episode"):
        _stock_reset(env, state)
        _stock_steps(env, script.actions(script.episode))
    costs = life.remember_memory()
    env.close()
    del env
    gc.collect()  # or EGL, which shuts down first, complains of its context
    return costs


def _stock_env(task: Any, cameras: bool) -> Any:
    from libero.libero.envs.env_wrapper import ControlEnv

    return ControlEnv(
        bddl_file_name=str(task.bddl_file),
        has_offscreen_renderer=cameras,
        use_camera_obs=cameras,
        camera_heights=_SIZE,
        camera_widths=_SIZE,
        ignore_done=True,
    )


def _stock_reset(env: Any, state: np.ndarray) -> None:
    env.seed(0)
    env.reset()
    env.set_init_state(state)


def _stock_steps(env: Any, actions: np.ndarray) -> None:
    for action in actions:
        env.step(action)


def _ours(script: Script, **arguments: Any) -> dict[str, Cost]:
    from wmrl_envs.libero.env import LiberoEnv

    life = Life()
    with life.phase("construction"):
        env = LiberoEnv(
            task_id=script.task_id, settle=0, image_size=_SIZE, horizon=10**9, **arguments
        )
        env.reset(options={"init_state_id": 0})
    _our_steps(env, script.actions(_WARM_UP))
    with life.phase("step", script.steps):
        _our_steps(env, script.actions(script.steps))
    with life.phase("reset"):
        env.reset(options={"init_state_id": 0})
    with life.phase("episode"):
        env.reset(options={"init_state_id": 0})
        _our_steps(env, script.actions(script.episode))
    costs = life.remember_memory()
    env.close()
    return costs


def _our_steps(env: Any, actions: np.ndarray) -> None:
    chunk = env.action_space.shape[0] if len(env.action_space.shape) == 2 else 1
    padded = np.resize(actions, (-(-len(actions) // chunk) * chunk, 7))
    for action in padded.reshape(-1, *env.action_space.shape):
        if env.step(action)[2]:
            env.reset()


def _held_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")
