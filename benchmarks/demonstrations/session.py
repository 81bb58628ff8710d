"""Recording many demonstrations in one environment, with a progress bar."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
from rich.console import Console

from wmrl_envs.benchmarks.progress_bar import progress_bar
from wmrl_envs.libero.demonstrations import (
    Demonstration,
    Pictures,
    Recipe,
    Store,
    collect,
    replay,
    write_lerobot,
    write_minari,
)

__all__ = ["collected", "demonstration_env", "differing", "write_datasets"]


@contextmanager
def demonstration_env(pictures: Pictures | None = None) -> Iterator[Any]:
    """The environment of demonstrations: all tasks, all initial states, state observations."""
    env = gym.make(
        "wmrl_envs:WMRL/LiberoLong-v0",
        task_id="all",
        split="all",
        observation="state",
        image_size=pictures.size if pictures else 128,
    )
    try:
        yield env
    finally:
        env.close()


def collected(
    env: Any, recipes: Sequence[Recipe], store: Store, console: Console
) -> list[Demonstration]:
    """Records what the store lacks and reads the rest, under a progress bar."""
    found, successes = [], 0
    with progress_bar(console) as bar:
        line = bar.add_task("collecting", total=len(recipes), note="")
        for demonstration in collect(env, recipes, store):
            found.append(demonstration)
            successes += demonstration.success
            note = f"{demonstration.recipe.name}, {successes} succeeded"
            bar.update(line, advance=1, note=note)
    return found


def differing(
    env: Any, demonstrations: Sequence[Demonstration], console: Console
) -> list[Demonstration]:
    """Plays all again; returns those that did not repeat bit for bit, success included."""
    found = []
    with progress_bar(console) as bar:
        line = bar.add_task("replaying", total=len(demonstrations), note="")
        for demonstration in demonstrations:
            played = replay(env, demonstration)
            if played.first_difference is not None or played.success != demonstration.success:
                found.append(demonstration)
            bar.update(line, advance=1, note=f"{demonstration.recipe.name}, {len(found)} differ")
    return found


def write_datasets(
    env: Any,
    demonstrations: Sequence[Demonstration],
    folder: Path,
    formats: Sequence[str],
    pictures: Pictures | None,
    console: Console,
) -> list[Path]:
    """Writes one Minari dataset a task, one LeRobot dataset of all tasks, or both."""
    tasks = sorted({demonstration.recipe.task_id for demonstration in demonstrations})
    paths = []
    with console.status("writing"):
        if "minari" in formats:
            for task in tasks:
                chosen = [demo for demo in demonstrations if demo.recipe.task_id == task]
                paths.append(write_minari(chosen, env, folder / "minari", pictures))
        if "lerobot" in formats and tasks:
            paths.append(write_lerobot(demonstrations, env, folder / "lerobot", pictures))
    return paths
