"""A demonstration that no simulator made."""

from typing import Any

import numpy as np

from wmrl_envs.libero.demonstrations import Demonstration, Recipe


def made_up(recipe: Recipe, *, success: bool = True, steps: int = 5) -> Demonstration:
    """A demonstration of random numbers; its goals are met at the end if it is a success."""
    rng = np.random.default_rng(recipe.entropy)
    met = np.zeros((steps + 1, 2), bool)
    met[-1] = success
    values: dict[str, Any] = {
        "observations": {"robot0_eef_pos": rng.normal(size=(steps + 1, 3)).astype(np.float32)},
        "actions": rng.uniform(-1, 1, (steps, 7)).astype(np.float32),
        "intended": rng.uniform(-1, 1, (steps, 7)).astype(np.float32),
        "rewards": met[1:].all(axis=1).astype(np.float64),
        "skills": np.array(["Grasp"] * steps),
        "goals_met": met,
        "goal_distances": rng.uniform(size=(steps + 1, 2)),
        "states": rng.normal(size=(steps + 1, 45)),
    }
    return Demonstration(recipe=recipe, instruction="do it", success=success, **values)
