"""A demonstration that no simulator made."""

from typing import Any

import numpy as np

from wmrl_envs.libero.demonstrations import Demonstration, Recipe

_OBSERVATIONS = {
    "robot0_eef_pos": (3,),
    "robot0_eef_quat": (4,),
    "robot0_gripper_qpos": (2,),
    "object_poses": (14,),
}


def made_up(recipe: Recipe, *, success: bool = True, steps: int = 5) -> Demonstration:
    """A demonstration of random numbers; its goals are met at the end if it is a success."""
    rng = np.random.default_rng(recipe.entropy)
    met = np.zeros((steps + 1, 2), bool)
    met[-1] = success
    values: dict[str, Any] = {
        "observations": {
            name: rng.normal(size=(steps + 1, *shape)).astype(np.float32)
            for name, shape in _OBSERVATIONS.items()
        },
        "actions": rng.uniform(-1, 1, (steps, 7)).astype(np.float32),
        "intended": rng.uniform(-1, 1, (steps, 7)).astype(np.float32),
        "rewards": met[1:].all(axis=1).astype(np.float64),
        "skills": np.array(["Grasp"] * steps),
        "goals_met": met,
        "goal_distances": rng.uniform(size=(steps + 1, 2)),
        "states": rng.normal(size=(steps + 1, 45)),
    }
    return Demonstration(recipe=recipe, instruction="do it", success=success, **values)
