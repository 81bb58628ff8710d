"""Seeds every generator that scripts use, those of modules that are not loaded yet too."""

import random
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["seed_generators"]


def seed_generators(seed: int) -> None:
    """Seeds ``random``, numpy and torch, each of the latter now or when it is imported."""
    random.seed(seed)
    seeders: dict[str, Callable[[Any], object]] = {
        "numpy.random": lambda module: module.seed(seed % 2**32),
        "torch": lambda module: module.manual_seed(seed % 2**64),
    }
    waiting = {name: seeder for name, seeder in seeders.items() if name not in sys.modules}
    for name in seeders.keys() - waiting.keys():
        seeders[name](sys.modules[name])
    if waiting:
        sys.meta_path.insert(0, _SeedingFinder(waiting))


class _SeedingFinder:
    """Finds modules as the usual finder does, and seeds the awaited ones once they are loaded."""

    def __init__(self, waiting: dict[str, Callable[[Any], object]]) -> None:
        self._waiting = waiting

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        seeder = self._waiting.pop(name, None)
        if seeder is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            _seed_after_loading(spec.loader, seeder)
        return spec


def _seed_after_loading(loader: Any, seeder: Callable[[Any], object]) -> None:
    execute = loader.exec_module

    def execute_and_seed(module: ModuleType) -> None:
        execute(module)
        seeder(module)

    loader.exec_module = execute_and_seed
