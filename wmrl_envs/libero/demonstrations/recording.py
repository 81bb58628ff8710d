"""Recording the expert's episodes, and playing them again to prove that they succeed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero.expert import FAILURES, Failure, ScriptedExpert

__all__ = ["Demonstration", "Recipe", "Replay", "record", "replay", "start_options"]

_AFTER = 10
"""Steps that are recorded after the plan of a deliberate failure is over."""


@dataclass(frozen=True)
class Recipe:
    """What determines a demonstration, on given versions of the simulator, bit for bit.

    Args:
        task_id: A task of libero_10.
        init_state_id: One of its initial states.
        seed: Seed of the noise and of the way to fail.
        noise: Standard deviation of the noise on the motion commands, in units of the action.
        grasp_noise: Standard deviation of the episode's grasp error, m.
        failure: A way to fail on purpose, or None.

    Raises:
        ValueError: A number is negative, or the failure is unknown.

    Example:
        >>> Recipe(task_id=3, init_state_id=7, noise=0.1).name
        'task3-state07-seed0-noise0.1'
    """

    task_id: int
    init_state_id: int
    seed: int = 0
    noise: float = 0.0
    grasp_noise: float = 0.0
    failure: Failure | None = None

    def __post_init__(self) -> None:
        for name in ("task_id", "init_state_id", "seed", "noise", "grasp_noise"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)!r}")
        if self.failure is not None and self.failure not in FAILURES:
            raise ValueError(f"failure must be one of {FAILURES} or None, got {self.failure!r}")

    @property
    def name(self) -> str:
        """A name that tells recipes apart."""
        parts = [f"task{self.task_id}", f"state{self.init_state_id:02d}", f"seed{self.seed}"]
        parts += [f"noise{self.noise:g}"] if self.noise else []
        parts += [f"grasp{self.grasp_noise:g}"] if self.grasp_noise else []
        return "-".join(parts + ([self.failure] if self.failure else []))

    def expert(self) -> ScriptedExpert:
        """The expert that follows this recipe."""
        return ScriptedExpert(noise=self.noise, grasp_noise=self.grasp_noise, failure=self.failure)

    @property
    def entropy(self) -> tuple[int, int, int]:
        """The seed of the expert: different for every task and initial state."""
        return (self.seed, self.task_id, self.init_state_id)


@dataclass(frozen=True)
class Demonstration:
    """One recorded episode of T steps.

    Attributes:
        recipe: What determines it.
        instruction: What the robot was told to do.
        success: The goal was reached.
        observations: The state observations by name, each (T + 1, ...).
        actions: The actions (T, 7), float32, noise included.
        intended: The actions without noise (T, 7), float32.
        rewards: The rewards (T,), float64.
        skills: The name of the expert's skill at each step (T,).
        goals_met: Which goal predicates held (T + 1, number of goals), bool.
        goal_distances: How far each goal was, in m or rad (T + 1, number of goals), float64.
        states: The simulator's time, positions and velocities (T + 1, 1 + nq + nv), float64.
    """

    recipe: Recipe
    instruction: str
    success: bool
    observations: dict[str, NDArray[Any]]
    actions: NDArray[np.float32]
    intended: NDArray[np.float32]
    rewards: NDArray[np.float64]
    skills: NDArray[np.str_]
    goals_met: NDArray[np.bool_]
    goal_distances: NDArray[np.float64]
    states: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def progress(self) -> NDArray[np.float64]:
        """The share of the goal predicates that held (T + 1,), in [0, 1]."""
        return np.asarray(self.goals_met.mean(axis=1))


@dataclass(frozen=True)
class Replay:
    """What became of a demonstration's actions when they were played again.

    Attributes:
        success: The goal was reached.
        first_difference: The first step whose state differs in any bit; None when none does.
    """

    success: bool
    first_difference: int | None


class _Tape:
    """Gathers what happens, one row a moment."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}

    def add(self, **values: Any) -> None:
        for name, value in values.items():
            self.rows.setdefault(name, []).append(np.array(value))

    def observe(self, env: Any, observation: dict[str, Any]) -> None:
        """One moment: the observation, the goals and the simulator's state."""
        goals = env.unwrapped.progress().goals
        self.add(**{f"observation/{k}": v for k, v in observation.items() if k != "task"})
        self.add(
            goals_met=[goal.satisfied for goal in goals],
            goal_distances=[goal.distance for goal in goals],
            states=simulator_state(env),
        )

    def arrays(self) -> dict[str, Any]:
        found = {name: np.stack(rows) for name, rows in self.rows.items()}
        names = [name for name in found if name.startswith("observation/")]
        return {"observations": {n.split("/")[1]: found.pop(n) for n in names}, **found}


def record(env: Any, recipe: Recipe) -> Demonstration:
    """Lets the expert act for one episode.

    Args:
        env: A LIBERO environment of ``libero_10`` with ``action_chunk=1`` and state observations.
        recipe: What to record.

    Returns:
        The episode, which need not be a success.
    """
    observation, _ = env.reset(options=start_options(recipe))
    expert, tape = recipe.expert(), _Tape()
    expert.reset(env, recipe.entropy)
    tape.observe(env, observation)
    for action in _actions(expert):
        tape.add(actions=action, intended=expert.intended, skills=expert.skill)
        observation, reward, terminated, truncated, _ = env.step(action)
        tape.add(rewards=float(reward))
        tape.observe(env, observation)
        if terminated or truncated:
            break
    instruction = env.unwrapped.simulation.task.instruction
    return Demonstration(recipe, instruction, bool(terminated), **tape.arrays())


def replay(env: Any, demonstration: Demonstration) -> Replay:
    """Plays a demonstration's actions again and compares every state, bit for bit."""
    env.reset(options=start_options(demonstration.recipe))
    success, states = False, [simulator_state(env)]
    for action in demonstration.actions:
        *_, success, _, _ = env.step(action)
        states.append(simulator_state(env))
    equal = (np.stack(states) == demonstration.states).all(axis=1)
    return Replay(bool(success), None if equal.all() else int(np.argmin(equal)))


def start_options(recipe: Recipe) -> dict[str, int]:
    """The reset options of a recipe's episode."""
    return {"task_id": recipe.task_id, "init_state_id": recipe.init_state_id}


def simulator_state(env: Any) -> NDArray[np.float64]:
    """Time, positions and velocities (1 + nq + nv,), as LIBERO's own files have them."""
    data = env.unwrapped.simulation.data
    return np.concatenate([[data.time], data.qpos, data.qvel])


def _actions(expert: ScriptedExpert) -> Iterator[NDArray[np.float32]]:
    """The expert's actions, until a while after its plan is over."""
    after = 0
    while after < _AFTER:
        action = expert.act()
        after += expert.finished
        yield action
