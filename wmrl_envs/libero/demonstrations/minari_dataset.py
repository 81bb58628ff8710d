"""Demonstrations as Minari datasets, one a task.

A folder that holds them is one that ``MINARI_DATASETS_PATH`` can name; the datasets are called
``libero_long/task0-v0`` and so on. Pictures are stored without loss.
"""

import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from wmrl_envs.libero import stock
from wmrl_envs.libero.demonstrations.pictures import Pictures
from wmrl_envs.libero.demonstrations.recording import Demonstration, start_options

if TYPE_CHECKING:
    from minari.data_collector import EpisodeBuffer

__all__ = ["dataset_id", "write_minari"]


def dataset_id(task_id: int) -> str:
    """The name of a task's dataset."""
    return f"libero_long/task{task_id}-v0"


def write_minari(
    demonstrations: Sequence[Demonstration],
    env: Any,
    root: Path,
    pictures: Pictures | None = None,
) -> Path:
    """Writes the demonstrations of one task as a Minari dataset, over an older one.

    Args:
        demonstrations: The demonstrations.
        env: The environment that they were recorded in.
        root: The folder of datasets.
        pictures: Which pictures to render; None stores the state observations alone.

    Returns:
        The dataset's folder.

    Raises:
        ImportError: Minari is not installed.
        ValueError: There is no demonstration, or they are of several tasks.
    """
    from minari.dataset.minari_storage import MinariStorage

    name = dataset_id(_only_task(demonstrations))
    final = root.resolve() / name  # Minari looks for a relative path twice
    unfinished = final.with_name(f".{final.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    storage = MinariStorage.new(
        unfinished / "data",
        observation_space=_observation_space(env, pictures),
        action_space=env.action_space,
        env_spec=env.spec,
        jpeg_encoding=False,
    )
    storage.update_metadata(_metadata(name))
    for demonstration in demonstrations:
        images = pictures.of(env, demonstration) if pictures else {}
        storage.update_episodes([_buffer(demonstration, images)])
    storage.update_episode_metadata([_facts(demonstration) for demonstration in demonstrations])
    shutil.rmtree(final, ignore_errors=True)
    unfinished.rename(final)
    return final


def _only_task(demonstrations: Sequence[Demonstration]) -> int:
    tasks = {demonstration.recipe.task_id for demonstration in demonstrations}
    if len(tasks) != 1:
        raise ValueError(f"demonstrations must be of one task, got those of {sorted(tasks)}")
    return tasks.pop()


def _observation_space(env: Any, pictures: Pictures | None) -> spaces.Dict:
    """The environment's state observations and the pictures; Minari has no space for the text."""
    states = {name: space for name, space in env.observation_space.items() if name != "task"}
    return spaces.Dict({**states, **(pictures.spaces if pictures else {})})


def _metadata(name: str) -> dict[str, Any]:
    from minari import __version__

    return {
        "dataset_id": name,
        "minari_version": __version__,
        "algorithm_name": "scripted expert on the simulator's true state",
        "author": {f"wmrl-envs {version('wmrl-envs')}"},
        "description": "Demonstrations of a libero_10 task; infos hold the goal's progress, the "
        "actions without noise and the simulator's states.",
        "requirements": [f"{package}=={found}" for package, found in stock.versions().items()],
    }


def _buffer(
    demonstration: Demonstration, images: Mapping[str, NDArray[np.uint8]]
) -> "EpisodeBuffer":
    from minari.data_collector import EpisodeBuffer

    last = np.arange(len(demonstration)) == len(demonstration) - 1
    return EpisodeBuffer(
        options=dict(start_options(demonstration.recipe)),
        observations={**demonstration.observations, **images},
        actions=demonstration.actions,
        rewards=list(demonstration.rewards),
        terminations=list(last & demonstration.success),
        truncations=list(last & (not demonstration.success)),
        infos={
            "progress": demonstration.progress,
            "goals_met": demonstration.goals_met,
            "goal_distances": demonstration.goal_distances,
            "simulator_states": demonstration.states,
            "intended_actions": demonstration.intended,
            "skills": list(demonstration.skills),
        },
    )


def _facts(demonstration: Demonstration) -> dict[str, Any]:
    """What Minari keeps as an episode's metadata."""
    recipe = demonstration.recipe
    return {
        "instruction": demonstration.instruction,
        "is_success": demonstration.success,
        "noise": recipe.noise,
        "grasp_noise": recipe.grasp_noise,
        "expert_seed": recipe.seed,
        "failure": recipe.failure or "",
    }
