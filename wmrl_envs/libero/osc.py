"""The mathematics of operational space control, which numba compiles.

Khatib, "A unified approach for motion and force control of robot manipulators: the operational
space formulation", 1987. Written as robosuite 1.4 computes it, operation for operation, because a
different order of the same sums gives different last bits. Products that robosuite leaves to
numpy's BLAS are left to it here too, and stand in :mod:`wmrl_envs.libero.control`.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero.stock import numba_cache

__all__ = ["compiled", "gather", "pull"]

_Array = NDArray[np.float64]

_NULL_KP = 10.0
_NULL_KV = 2.0 * np.sqrt(_NULL_KP)


def gather(
    jp: _Array,
    jr: _Array,
    inertia: _Array,
    first: int,
    jacobian: _Array,
    jacobian_position: _Array,
    jacobian_rotation: _Array,
    mass: _Array,
) -> None:
    """Copies the arm's columns out of the whole model's matrices.

    Args:
        jp: (3, nv), the hand's position Jacobian.
        jr: (3, nv), its rotation Jacobian.
        inertia: (nv, nv).
        first: The arm's first degree of freedom; it has n consecutive ones.
        jacobian: (6, n), written.
        jacobian_position: (3, n), written.
        jacobian_rotation: (3, n), written.
        mass: (n, n), written.
    """
    n = mass.shape[0]
    for j in range(n):
        for i in range(3):
            jacobian[i, j] = jacobian_position[i, j] = jp[i, first + j]
            jacobian[i + 3, j] = jacobian_rotation[i, j] = jr[i, first + j]
        for i in range(n):
            mass[i, j] = inertia[first + i, first + j]


def pull(
    mass: _Array,
    jacobian: _Array,
    jacobian_position: _Array,
    jacobian_rotation: _Array,
    rest: _Array,
    joints: _Array,
    joint_velocities: _Array,
    position: _Array,
    rotation: _Array,
    velocity: _Array,
    spin: _Array,
    goal_position: _Array,
    goal_rotation: _Array,
    kp: _Array,
    kd: _Array,
) -> tuple[_Array, _Array, _Array, _Array, _Array]:
    """What one substep's torques are made of.

    Args:
        mass: (n, n), the arm's inertia.
        jacobian: (6, n).
        jacobian_position: (3, n).
        jacobian_rotation: (3, n).
        rest: (n,), the joint positions that the redundant joint is pulled towards.
        joints: (n,), the present ones.
        joint_velocities: (n,).
        position: (3,), the hand's, and so on.
        rotation: (3, 3).
        velocity: (3,).
        spin: (3,).
        goal_position: (3,), where the hand should be.
        goal_rotation: (3, 3), the rotation that it should have.
        kp: (6,), stiffness.
        kd: (6,), damping.

    Returns:
        The apparent inertia of the hand for forces (3, 3) and for torques (3, 3), the desired
        force (3,) and torque (3,), and the joint torques within the null space (n,).
    """
    inverse = np.linalg.inv(mass)
    apparent_inverse = np.dot(np.dot(jacobian, inverse), jacobian.transpose())
    position_inverse = np.dot(np.dot(jacobian_position, inverse), jacobian_position.transpose())
    rotation_inverse = np.dot(np.dot(jacobian_rotation, inverse), jacobian_rotation.transpose())
    apparent = np.linalg.pinv(apparent_inverse)
    toward = np.linalg.pinv(position_inverse)
    turn = np.linalg.pinv(rotation_inverse)
    inverse_jacobian = np.dot(inverse, jacobian.transpose()).dot(apparent)
    null = np.eye(mass.shape[0]) - np.dot(inverse_jacobian, jacobian)
    rest_torques = np.dot(mass, _NULL_KP * (rest - joints) - _NULL_KV * joint_velocities)
    error = np.zeros(3)
    for k in range(3):
        error += np.cross(rotation[:, k], goal_rotation[:, k])
    force = (goal_position - position) * kp[:3] + -velocity * kd[:3]
    torque = 0.5 * error * kp[3:] + -spin * kd[3:]
    return toward, turn, force, torque, np.dot(null.transpose(), rest_torques)


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled at its first call (seconds) and kept in the package's cache."""
    import numba

    with numba_cache():
        try:
            return numba.njit(cache=True)(function)
        except RuntimeError:  # no folder is writable
            return numba.njit(function)
