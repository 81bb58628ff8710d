"""One control step of the robot: 25 substeps of physics under the operational space controller.

The arithmetic is that of robosuite 1.4 (``OSC_POSE``), operation for operation and array layout for
array layout, so that states are bitwise those of the stock environment. What is left out cannot be
seen in them: stock LIBERO computes every substep's forward dynamics three times, where MuJoCo's
``mj_step1`` and ``mj_step2`` do it once, and updates some 40 observations that nobody reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero import osc

__all__ = ["ControlState", "OperationalSpaceControl", "Sample"]

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class ControlState:
    """What the controller remembers between two control steps.

    Attributes:
        goal_position: (3,), metres, where the hand should be.
        goal_rotation: (3, 3), the rotation that the hand should have.
        fingers: The commands of the two fingers, in [-1, 1].
        fresh: Nothing has moved since the reset: a stock controller computes its first torque from
            what it saw when it was made, before the initial state was set.
    """

    goal_position: _Array
    goal_rotation: _Array
    fingers: tuple[float, float]
    fresh: bool = False


@dataclass(frozen=True)
class Sample:
    """What an observation is made of: stock LIBERO samples it after the last substep but one.

    Attributes:
        posed: (nq,), joint positions that poses and pictures belong to: those before that substep,
            since nothing is computed anew when it is over.
        positions: (nq,), joint positions after it.
        velocities: (nv,), joint velocities after it.
    """

    posed: _Array
    positions: _Array
    velocities: _Array


class OperationalSpaceControl:
    """Drives the arm of one robosuite environment.

    Args:
        domain: The robosuite environment, just reset.

    Attributes:
        state: The controller's memory; assign another moment's to go back to it.
    """

    def __init__(self, domain: Any) -> None:
        import mujoco

        robot = domain.robots[0]
        self._mujoco = mujoco
        self._model, self._data = domain.sim.model._model, domain.sim.data._data
        self._substeps = int(domain.control_timestep / domain.model_timestep)
        self._at_reset = _Kinematics.at_reset(robot.controller)
        self._sensors = _Sensors(robot, self._model, self._data)
        self._arm = _Arm(robot, self._data)
        self._gripper = _Gripper(robot, self._model, self._data)
        fingers = np.broadcast_to(robot.gripper.current_action, 2)
        self.state = ControlState(
            np.array(robot.controller.goal_pos),
            np.array(robot.controller.goal_ori),
            (float(fingers[0]), float(fingers[1])),
            fresh=True,
        )

    def step(self, action: _Array) -> Sample:
        """Advances the simulator by one control step (0.05 s).

        Args:
            action: (7,), float64; clipped to [-1, 1].

        Returns:
            What stock LIBERO's observation of this step is made of.
        """
        model, data, mujoco = self._model, self._data, self._mujoco
        last, fingers, grip = self.state, self.state.fingers, float(action[-1])
        posed, sample, goal = data.qpos, None, last
        for remaining in reversed(range(self._substeps)):
            mujoco.mj_step1(model, data)
            arm = self._at_reset if last.fresh and goal is last else self._sensors.read()
            if goal is last:
                goal = self._arm.new_goal(action[:-1], last, arm)
            self._arm.pull(goal, arm)
            fingers = self._gripper.pull(fingers, grip)
            if remaining == 1:
                posed = data.qpos.copy()
            elif remaining == 0:
                sample = Sample(posed, data.qpos.copy(), data.qvel.copy())
            mujoco.mj_step2(model, data)
        self.state = ControlState(goal.goal_position, goal.goal_rotation, fingers)
        assert sample is not None
        return sample


@dataclass(frozen=True)
class _Kinematics:
    """The arm at one substep; arrays in the layouts that the stock controller hands to BLAS.

    Attributes:
        position: (3,), metres, of the hand, in the world.
        rotation: (3, 3), of the hand.
        velocity: (3,), m/s.
        spin: (3,), rad/s.
        joints: (7,), rad.
        joint_velocities: (7,), rad/s.
        jacobian: (6, 7), column-major, its upper half for the position.
        jacobian_position: (3, 7), column-major.
        jacobian_rotation: (3, 7), column-major.
        mass: (7, 7), column-major.
    """

    position: _Array
    rotation: _Array
    velocity: _Array
    spin: _Array
    joints: _Array
    joint_velocities: _Array
    jacobian: _Array
    jacobian_position: _Array
    jacobian_rotation: _Array
    mass: _Array

    @classmethod
    def at_reset(cls, controller: Any) -> "_Kinematics":
        """What a stock controller saw when it was made, with which it computes its first torque."""
        return cls(
            *(controller.ee_pos, controller.ee_ori_mat),
            *(controller.ee_pos_vel, controller.ee_ori_vel),
            *(controller.joint_pos, controller.joint_vel),
            *(controller.J_full, controller.J_pos, controller.J_ori, controller.mass_matrix),
        )


class _Sensors:
    """Keeps the arm's kinematics up to date, in buffers and views of the simulator's memory."""

    def __init__(self, robot: Any, model: Any, data: Any) -> None:
        import mujoco

        controller = robot.controller
        self._model, self._data = model, data
        self._read_jacobians, self._site = mujoco.mj_jacSite, robot.eef_site_id
        dofs, joints = _span(controller.qvel_index), _span(controller.qpos_index)
        self._first, self._qvel = dofs.start, data.qvel
        nv, n = model.nv, len(controller.qvel_index)
        self._jp, self._jr, self._inertia = np.zeros((3, nv)), np.zeros((3, nv)), np.zeros((nv, nv))
        self._read_inertia = _inertia_reader(model, data, self._inertia)
        self._gather = osc.compiled(osc.gather)
        self._now = _Kinematics(
            *(data.site_xpos[self._site], data.site_xmat[self._site].reshape(3, 3)),
            *(np.zeros(3), np.zeros(3)),
            *(data.qpos[joints], data.qvel[dofs]),
            *(np.zeros((rows, n), order="F") for rows in (6, 3, 3, n)),
        )

    def read(self) -> _Kinematics:
        """The kinematics of the last ``mj_step1``; the next call overwrites them."""
        now, qvel, jp, jr = self._now, self._qvel, self._jp, self._jr
        self._read_jacobians(self._model, self._data, jp, jr, self._site)
        self._read_inertia()
        np.dot(jp, qvel, out=now.velocity)
        np.dot(jr, qvel, out=now.spin)
        self._gather(
            *(jp, jr, self._inertia, self._first),
            *(now.jacobian, now.jacobian_position, now.jacobian_rotation, now.mass),
        )
        return now


class _Arm:
    """Seven torques that pull the hand towards a goal."""

    def __init__(self, robot: Any, data: Any) -> None:
        from robosuite.utils import control_utils

        self._stock, self._mathematics = robot.controller, control_utils
        self._bias = data.qfrc_bias[_span(self._stock.qvel_index)]
        self._torques = data.ctrl[_span(robot._ref_joint_actuator_indexes)]
        self._low, self._high = robot.torque_limits
        self._rest = np.array(self._stock.initial_joint)
        self._kp, self._kd = np.array(self._stock.kp), np.array(self._stock.kd)
        self._pull, self._wrench = osc.compiled(osc.pull), np.zeros(6)

    def new_goal(self, action: _Array, last: ControlState, arm: _Kinematics) -> ControlState:
        """The goal of one action: (6,), displacement and rotation; no rotation keeps the last."""
        delta = self._stock.scale_action(action)
        position = self._mathematics.set_goal_position(delta[:3], arm.position)
        rotation = last.goal_rotation
        if np.any(delta[3:] != 0.0):
            rotation = self._mathematics.set_goal_orientation(delta[3:], arm.rotation)
        return ControlState(position, rotation, last.fingers)

    def pull(self, goal: ControlState, arm: _Kinematics) -> None:
        """Writes the torques of one substep."""
        toward, turn, force, torque, null_torques = self._pull(
            *(arm.mass, arm.jacobian, arm.jacobian_position, arm.jacobian_rotation),
            *(self._rest, arm.joints, arm.joint_velocities),
            *(arm.position, arm.rotation, arm.velocity, arm.spin),
            *(goal.goal_position, goal.goal_rotation, self._kp, self._kd),
        )
        np.dot(toward, force, out=self._wrench[:3])
        np.dot(turn, torque, out=self._wrench[3:])
        torques = np.dot(arm.jacobian.T, self._wrench)
        torques += self._bias
        torques += null_torques
        np.clip(torques, self._low, self._high, out=self._torques)


class _Gripper:
    """Two fingers that close or open by 1 % of their range each substep."""

    _SPEED = 0.01

    def __init__(self, robot: Any, model: Any, data: Any) -> None:
        actuators = _span(robot._ref_joint_gripper_actuator_indexes)
        low, high = model.actuator_ctrlrange[actuators].T
        self._bias = tuple(map(float, 0.5 * (high + low)))
        self._weight = tuple(map(float, 0.5 * (high - low)))
        self._commands = data.ctrl[actuators]

    def pull(self, fingers: tuple[float, float], action: float) -> tuple[float, float]:
        """Writes the commands of one substep.

        Args:
            fingers: The commands of the substep before, in [-1, 1].
            action: Closes where it is positive, opens where it is negative, stays at 0.

        Returns:
            The commands, in [-1, 1].
        """
        speed = self._SPEED * ((action > 0) - (action < 0))
        left = min(max(fingers[0] - speed, -1.0), 1.0)
        right = min(max(fingers[1] + speed, -1.0), 1.0)
        self._commands[0] = self._bias[0] + self._weight[0] * left
        self._commands[1] = self._bias[1] + self._weight[1] * right
        return left, right


def _span(indices: Sequence[int]) -> slice:
    """Consecutive indices as a slice, so that arrays are views of the simulator's memory.

    Raises:
        ValueError: The indices are not consecutive.
    """
    first, count = int(indices[0]), len(indices)
    if list(map(int, indices)) != list(range(first, first + count)):
        raise ValueError(f"a robot's joints must be consecutive in the model, got {indices!r}")
    return slice(first, first + count)


def _inertia_reader(model: Any, data: Any, dense: _Array) -> Any:
    """A function that fills ``dense`` with the inertia matrix; MuJoCo 3.4 turned its arguments."""
    import mujoco

    full = mujoco.mj_fullM
    try:
        full(model, data, dense)
    except TypeError:
        return lambda: full(model, dense, data.qM)
    return lambda: full(model, data, dense)
