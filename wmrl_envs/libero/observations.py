"""Observations: their space, and how they are read off a scene."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from wmrl_envs.libero.cameras import Cameras, oriented
from wmrl_envs.libero.settings import Settings
from wmrl_envs.libero.simulation import Simulation
from wmrl_envs.libero.suites import LiberoTask
from wmrl_envs.spaces import UnicodeText

__all__ = ["Observation", "observation_space", "observe"]

Observation = dict[str, Any]

_LONGEST_INSTRUCTION = 500
_ROBOT_JOINTS, _ARM_JOINTS = 9, 7
_FREE_BODY, _JOINT = 7 + 6, 1 + 1  # positions and velocities

_WORKSPACE = np.array([[-2.0, -2.0, 0.0], [2.0, 2.0, 3.0]])
_FAR = 10.0

_ROBOT: dict[str, tuple[Any, Any, int]] = {
    "robot0_joint_pos": (-4.0, 4.0, 7),
    "robot0_joint_vel": (-20.0, 20.0, 7),
    "robot0_eef_pos": (*_WORKSPACE, 3),
    "robot0_eef_quat": (-1.0, 1.0, 4),
    "robot0_gripper_qpos": (-0.05, 0.05, 2),
    "robot0_gripper_qvel": (-1.0, 1.0, 2),
}


def observation_space(settings: Settings) -> spaces.Dict:
    """The space of an environment's observations."""
    found: dict[str, spaces.Space[Any]] = {}
    if settings.instruction:
        found["task"] = UnicodeText(_LONGEST_INSTRUCTION)
    if settings.has_pixels:
        shape = (*settings.image_size, 3)
        found |= {f"{name}_image": spaces.Box(0, 255, shape, np.uint8) for name in settings.cameras}
    if settings.has_state:
        found |= {name: _box(low, high, (n,)) for name, (low, high, n) in _ROBOT.items()}
        found |= _object_spaces(settings)
    return spaces.Dict(found)


def observe(
    settings: Settings, space: spaces.Dict, simulation: Simulation, cameras: Cameras
) -> Observation:
    """The observation of a simulation's present scene."""
    found: Observation = {}
    if settings.instruction:
        found["task"] = simulation.task.instruction[:_LONGEST_INSTRUCTION]
    if settings.has_pixels:
        for name in settings.cameras:
            image = cameras.render(simulation.scene, name, *settings.image_size)
            found[f"{name}_image"] = oriented(image, settings.orientation)
    if settings.has_state:
        state = _state(simulation)
        found |= {name: _fitted(state[name], space[name]) for name in space if name in state}
    return {name: found[name] for name in space}


def _object_spaces(settings: Settings) -> dict[str, spaces.Space[Any]]:
    bodies = max(len(task.objects) + len(task.fixtures) for task in settings.tasks)
    joints = max(_fixture_joints(task) for task in settings.tasks)
    bound = np.tile(np.array([_FAR] * 3 + [1.0] * 4), bodies)
    found: dict[str, spaces.Space[Any]] = {"object_poses": _box(-bound, bound, bound.shape)}
    if joints:
        found["fixture_joints"] = _box(-4.0, 4.0, (joints,))
    return found


def _fixture_joints(task: LiberoTask) -> int:
    """Number of joints of drawers, doors and knobs, from the width of the initial states."""
    width = task.initial_states().shape[1]
    return (width - 1 - 2 * _ROBOT_JOINTS - _FREE_BODY * len(task.objects)) // _JOINT


def _state(simulation: Simulation) -> dict[str, NDArray[np.float64]]:
    sample, data = simulation.scene.sample, simulation.posed(simulation.scene)
    robot, task = simulation.domain.robots[0], simulation.task
    hand = data.body(robot.robot_model.eef_name)
    bodies = [simulation.domain.obj_body_id[name] for name in (*task.objects, *task.fixtures)]
    quaternions = np.roll(data.xquat[bodies], -1, axis=1)  # to x, y, z, w
    first = _ROBOT_JOINTS + 7 * len(task.objects)
    return {
        "robot0_joint_pos": sample.positions[:_ARM_JOINTS],
        "robot0_joint_vel": sample.velocities[:_ARM_JOINTS],
        "robot0_eef_pos": data.site_xpos[robot.eef_site_id],
        "robot0_eef_quat": np.roll(hand.xquat, -1),
        "robot0_gripper_qpos": sample.positions[_ARM_JOINTS:_ROBOT_JOINTS],
        "robot0_gripper_qvel": sample.velocities[_ARM_JOINTS:_ROBOT_JOINTS],
        "object_poses": np.hstack([data.xpos[bodies], quaternions]).ravel(),
        "fixture_joints": sample.positions[first:],
    }


def _fitted(value: NDArray[np.float64], box: spaces.Space[Any]) -> NDArray[np.float32]:
    """The value within its bounds, with zeros where another task has more objects."""
    assert isinstance(box, spaces.Box)
    padded = np.zeros(box.shape, np.float32)
    padded[: len(value)] = value
    return np.clip(padded, box.low, box.high)


def _box(low: Any, high: Any, shape: tuple[int, ...]) -> spaces.Box:
    lowest = np.broadcast_to(np.asarray(low, np.float32), shape)
    return spaces.Box(
        lowest, np.broadcast_to(np.asarray(high, np.float32), shape), dtype=np.float32
    )
