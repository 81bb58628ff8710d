"""What the episodes of one LIBERO environment have in common, checked once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from wmrl_envs.autoresearch.checks import checked_choice, checked_int
from wmrl_envs.libero.initial_states import resolve_split
from wmrl_envs.libero.suites import LiberoTask, suite

__all__ = ["Settings", "chosen_tasks"]

ObservationName = Literal["pixels", "state", "pixels_state"]
OrientationName = Literal["upright", "raw", "rot180"]


@dataclass(frozen=True)
class Settings:
    """An environment's arguments, see ``LiberoEnv``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument has an impossible value.
    """

    tasks: tuple[LiberoTask, ...]
    split: str | tuple[int, ...]
    observation: str
    action_chunk: int
    orientation: str
    image_size: tuple[int, int]
    cameras: tuple[str, ...]
    settle: str | int
    horizon: int | None
    instruction: bool
    multisampling: int
    fixture_seed: int
    simulators: int

    def __post_init__(self) -> None:
        checked_choice("observation", self.observation, get_args(ObservationName))
        checked_choice("orientation", self.orientation, get_args(OrientationName))
        for name, least in (("action_chunk", 1), ("multisampling", 0), ("fixture_seed", 0)):
            checked_int(name, getattr(self, name), least)
        checked_int("simulators", self.simulators, 1)
        if self.horizon is not None:
            checked_int("horizon", self.horizon, 1)
        if self.settle != "still":
            checked_int("settle", self.settle, 0)
        _ = self.starts

    @property
    def has_pixels(self) -> bool:
        """Do observations hold pictures?"""
        return self.observation != "state"

    @property
    def has_state(self) -> bool:
        """Do observations hold the robot's and the objects' state?"""
        return self.observation != "pixels"

    @property
    def starts(self) -> list[tuple[int, int]]:
        """The (task id, initial state) pairs that episodes start from."""
        return [
            (task.task_id, state)
            for task in self.tasks
            for state in resolve_split(self.split, len(task.initial_states()))
        ]

    def task(self, task_id: int) -> LiberoTask:
        """One of the environment's tasks by its number in the suite.

        Raises:
            ValueError: The environment has no such task.
        """
        for task in self.tasks:
            if task.task_id == task_id:
                return task
        numbers = [task.task_id for task in self.tasks]
        raise ValueError(f"options['task_id'] must be one of {numbers}, got {task_id!r}")


def chosen_tasks(suite_name: str, task_id: int | str | Iterable[int]) -> tuple[LiberoTask, ...]:
    """The tasks that ``task_id`` names: a number, several, or ``"all"``.

    Raises:
        LiberoUnavailable: LIBERO is not installed.
        TypeError: A number is no int.
        ValueError: There is no such suite or task, or no task is named.
    """
    tasks = suite(suite_name)
    if task_id == "all":
        return tasks
    if isinstance(task_id, str):
        raise ValueError(f"task_id must be a number, numbers or 'all', got {task_id!r}")
    numbers: Sequence[int] = [task_id] if isinstance(task_id, int) else list(task_id)
    for number in numbers:
        if checked_int("task_id", number, 0) >= len(tasks):
            raise ValueError(f"task_id must be within 0 to {len(tasks) - 1}, got {number!r}")
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"task_id must name at least one task and none twice, got {task_id!r}")
    return tuple(tasks[number] for number in numbers)


def checked_size(image_size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) from one side or two, in pixels.

    Raises:
        TypeError: A side is no int.
        ValueError: A side is not positive, or there are not one or two of them.
    """
    sides = (image_size, image_size) if isinstance(image_size, int) else tuple(image_size)
    if len(sides) != 2:
        raise ValueError(f"image_size must be a side or (height, width), got {image_size!r}")
    return (checked_int("image_size", sides[0], 1), checked_int("image_size", sides[1], 1))


def checked_cameras(cameras: str | Iterable[str]) -> tuple[str, ...]:
    """Names of at least one camera, none twice.

    Raises:
        ValueError: There is none, or one twice.
    """
    names = (cameras,) if isinstance(cameras, str) else tuple(cameras)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"cameras must name at least one and none twice, got {cameras!r}")
    return names
