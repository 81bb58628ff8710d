"""A folder of demonstrations: one compressed file an episode, written all or not at all."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.libero.demonstrations.recording import Demonstration, Recipe, record

__all__ = ["Store", "collect"]

_FORMAT = 1


class Store:
    """Keeps demonstrations as ``NAME.npz`` in a folder.

    Args:
        folder: The folder, made when the first demonstration is added.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __contains__(self, recipe: Recipe) -> bool:
        return self.path(recipe).is_file()

    def __iter__(self) -> Iterator[Demonstration]:
        """The demonstrations by task, state and seed."""
        paths = sorted(self._folder.glob("*.npz"))
        return iter(sorted((self._read(path) for path in paths), key=_order))

    def path(self, recipe: Recipe) -> Path:
        """Where a recipe's demonstration is, or would be."""
        return self._folder / f"{recipe.name}.npz"

    def get(self, recipe: Recipe) -> Demonstration:
        """Reads one demonstration.

        Raises:
            FileNotFoundError: It has not been recorded.
            ValueError: The file is of another version or of another recipe.
        """
        found = self._read(self.path(recipe))
        if found.recipe != recipe:
            raise ValueError(f"{self.path(recipe)} holds {found.recipe}, not {recipe}")
        return found

    def add(self, demonstration: Demonstration) -> Path:
        """Writes one demonstration, over an older one of its recipe."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self.path(demonstration.recipe)
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **_arrays(demonstration))
        os.replace(unfinished, path)
        return path

    def _read(self, path: Path) -> Demonstration:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
        facts = json.loads(str(arrays.pop("facts")))
        if facts.pop("format") != _FORMAT:
            raise ValueError(f"{path} is of another version of this package: collect again")
        names = [name for name in arrays if "/" in name]
        observations = {name.split("/")[1]: arrays.pop(name) for name in names}
        recipe = Recipe(**facts.pop("recipe"))
        return Demonstration(recipe=recipe, observations=observations, **facts, **arrays)


def collect(env: Any, recipes: Sequence[Recipe], store: Store) -> Iterator[Demonstration]:
    """Records what a store lacks; may be interrupted and called again.

    Args:
        env: An environment for :func:`~wmrl_envs.libero.demonstrations.recording.record`.
        recipes: What the store shall hold.
        store: Where demonstrations are kept.

    Yields:
        The demonstration of each recipe, in order, recorded or read.
    """
    for recipe in recipes:
        if recipe not in store:
            store.add(record(env, recipe))
        yield store.get(recipe)


def _arrays(demonstration: Demonstration) -> dict[str, Any]:
    values = {field.name: getattr(demonstration, field.name) for field in fields(Demonstration)}
    facts = {name: values.pop(name) for name in ("instruction", "success")}
    facts |= {"format": _FORMAT, "recipe": asdict(values.pop("recipe"))}
    observations = values.pop("observations")
    named = {f"observation/{name}": array for name, array in observations.items()}
    return {"facts": np.array(json.dumps(facts)), **named, **values}


def _order(demonstration: Demonstration) -> tuple[int, int, int, str]:
    recipe = demonstration.recipe
    return (recipe.task_id, recipe.init_state_id, recipe.seed, recipe.name)
