"""The info keys that environments, wrappers and agents share: the reward path's only vocabulary.

Every key is flat and has one Python type for ever, because Gymnasium's vector environments take the
array type from the first value that they see. An unknown value is an absent key, never ``None``,
NaN or 0.0; in vector infos read a key through :func:`masked`.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

__all__ = [
    "ANCHOR",
    "CORRECTED_REWARD",
    "GRADED",
    "GRADE_STATUS",
    "GROUP",
    "IS_SUCCESS",
    "LOST",
    "MEASURED",
    "MEASURED_REWARD",
    "NONE",
    "PREDICTED_REWARD",
    "REWARD_SOURCE",
    "REWARD_WEIGHT",
    "TASK",
    "WORLD_MODEL",
    "masked",
]

GROUP: Final = "group"
"""int: the episode's group, which is its reset seed unless ``options["group"]`` says otherwise."""

ANCHOR: Final = "anchor"
"""bool: this episode's group is graded by real execution."""

MEASURED_REWARD: Final = "measured_reward"
"""float: the episode's reward from real execution; absent where it was not measured."""

PREDICTED_REWARD: Final = "predicted_reward"
"""float: the world model's raw prediction; absent where it gave none."""

CORRECTED_REWARD: Final = "corrected_reward"
"""float: the prediction through the debiasing map; absent where there is no prediction."""

REWARD_SOURCE: Final = "reward_source"
"""str: one of :data:`MEASURED`, :data:`WORLD_MODEL` and :data:`NONE`."""

REWARD_WEIGHT: Final = "reward_weight"
"""float: the weight of this episode's advantage (1.0 when absent)."""

GRADED: Final = "graded"
"""bool: False when the infrastructure failed or nobody graded; agents leave such rows out."""

GRADE_STATUS: Final = "grade_status"
"""str: what became of the submission, see ``wmrl_envs.autoresearch.grading.GradeStatus``."""

TASK: Final = "task"
"""str: the name of the task that ``reset`` chose."""

IS_SUCCESS: Final = "is_success"
"""bool: the task's goal was reached (Stable-Baselines3's name)."""

LOST: Final = "lost"
"""bool: the machine, not the episode, came to its end: whatever was played, nobody may grade it."""

MEASURED: Final = "measured"
WORLD_MODEL: Final = "world_model"
NONE: Final = "none"


def masked(
    infos: Mapping[str, Any], key: str, num_envs: int, default: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Reads one key of a vector environment's infos together with its mask.

    Args:
        infos: The infos that a vector environment returned.
        key: One of this module's keys.
        num_envs: The number of sub-environments, N.
        default: What stands where the key is absent; its type gives the array's type.

    Returns:
        Values (N,) and a bool mask (N,) that is True where the key was present.

    Example:
        >>> infos = {"graded": np.array([True, False]), "_graded": np.array([True, False])}
        >>> masked(infos, "graded", 2, default=True)
        (array([ True,  True]), array([ True, False]))
    """
    dtype = object if isinstance(default, str) else type(default)
    values = np.full(num_envs, default, dtype=dtype)
    present = np.zeros(num_envs, dtype=bool)
    if key in infos:
        found = infos[key]
        mask = infos.get(f"_{key}")
        present[:] = True if mask is None else mask
        for i in np.flatnonzero(present):
            values[i] = found[i]
    return values, present
