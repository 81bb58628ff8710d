"""The expert as a policy: one action a step, with noise and deliberate failures on request."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from wmrl_envs.libero.expert.arm import Arm
from wmrl_envs.libero.expert.geometry import Vector
from wmrl_envs.libero.expert.plans import PLANS, Plan, Step
from wmrl_envs.libero.expert.skills import SkillFailed
from wmrl_envs.libero.expert.variations import Failure, failing, shifted_grasps
from wmrl_envs.libero.expert.workspace import Workspace

__all__ = ["ScriptedExpert"]

_ROUNDS = 4
"""How often a step of a plan is tried."""


class ScriptedExpert:
    """Solves the tasks of libero_10 from the simulator's true state.

    Args:
        noise: Standard deviation of the normal noise that is added to the six motion commands, in
            units of the action.
        grasp_noise: Standard deviation of a constant error, drawn once an episode, of every grasp
            along x and y, m.
        failure: A way to fail on purpose: ``"drop"``, ``"miss"``, ``"misplace"`` or ``"stop"``;
            None does its best.

    Raises:
        ValueError: A standard deviation is negative.

    Attributes:
        intended: The last action before noise was added (7,), float32.
        skill: The name of the skill that acts, such as ``"Grasp"``; "" when there is none.
        finished: The plan is over; from now on the expert holds still.

    Example:
        >>> expert = ScriptedExpert(noise=0.1)
        >>> expert.reset(env, seed=3)  # doctest: +SKIP
        >>> observation, reward, terminated, truncated, info = env.step(
        ...     expert.act()
        ... )  # doctest: +SKIP
    """

    def __init__(
        self, *, noise: float = 0.0, grasp_noise: float = 0.0, failure: Failure | None = None
    ) -> None:
        for name, value in (("noise", noise), ("grasp_noise", grasp_noise)):
            if not value >= 0.0:
                raise ValueError(f"{name} must be at least 0, got {value!r}")
        self._noise, self._grasp_noise, self._failure = noise, grasp_noise, failure
        self._actions: Iterator[Vector] | None = None
        self.intended: NDArray[np.float32] = np.zeros(7, np.float32)
        self.skill, self.finished = "", False

    def reset(self, env: Any, seed: int | tuple[int, ...] = 0) -> None:
        """Starts the plan of the task that the environment has just been reset to.

        Args:
            env: A LIBERO environment with ``action_chunk=1``, wrapped or not.
            seed: Seed of the noise and of the way to fail.

        Raises:
            ValueError: There is no plan for the environment's task, or its actions are chunks.
        """
        if env.action_space.shape != (7,):
            raise ValueError(f"actions must be single (7,), got chunks {env.action_space.shape}")
        self._rng = np.random.default_rng(seed)
        simulation = env.unwrapped.simulation
        self._arm = Arm(Workspace(simulation.domain))
        plan = self._varied(_plan(simulation.task))
        rounds = 1 if self._failure else _ROUNDS
        self._actions = self._follow(plan, rounds)
        self.skill, self.finished = "", False

    def act(self) -> NDArray[np.float32]:
        """The next action (7,), within [-1, 1]; call it once a step.

        Raises:
            ResetNeeded: :meth:`reset` has not been called.
        """
        if self._actions is None:
            raise ResetNeeded("there is no plan to follow: call reset before act")
        action = next(self._actions, None)
        if action is None:
            self.skill, self.finished = "", True
            action = self._arm.act(self._arm.workspace.gripper_position)
        self.intended = action.astype(np.float32)
        noise = np.append(self._rng.normal(0.0, self._noise, 6), 0.0)
        return np.clip(action + noise, -1.0, 1.0).astype(np.float32)

    def _varied(self, plan: Plan) -> Plan:
        plan = shifted_grasps(plan, self._rng.normal(0.0, self._grasp_noise, 2))
        return failing(plan, self._failure, self._rng) if self._failure else plan

    def _follow(self, plan: Plan, rounds: int) -> Iterator[Vector]:
        """Goes through the steps whose goals do not hold yet, a few times."""
        for _ in range(rounds):
            for step in plan:
                if not self._arm.workspace.holds(step.goal):
                    yield from self._take(step)

    def _take(self, step: Step) -> Iterator[Vector]:
        def done() -> bool:
            return self._arm.workspace.holds(step.goal)

        try:
            for skill in step.skills:
                self.skill = type(skill).__name__
                yield from skill.actions(self._arm, done)
        except SkillFailed:
            return  # the next round tries again


def _plan(task: Any) -> Plan:
    if task.suite != "libero_10" or task.task_id not in PLANS:
        raise ValueError(f"the expert has plans for libero_10, not for {task.suite} {task.task_id}")
    return PLANS[task.task_id]
