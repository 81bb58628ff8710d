"""Tasks and initial states as a user writes them: ``0-3,7``, ``all``, ``heldout``."""

from collections.abc import Iterable, Sequence

from wmrl_envs.libero.demonstrations import Recipe
from wmrl_envs.libero.expert import PLANS, Failure
from wmrl_envs.libero.initial_states import resolve_split

__all__ = ["make_recipes", "parse_states", "parse_tasks"]

_STATES = 50
"""Every task of libero_10 has as many initial states."""


def parse_tasks(text: str) -> tuple[int, ...]:
    """Task ids from ``all``, numbers and ranges.

    Raises:
        ValueError: There is no such task.

    Example:
        >>> parse_tasks("0-2,7")
        (0, 1, 2, 7)
    """
    return _numbers("task", "0-9" if text == "all" else text, PLANS)


def parse_states(text: str) -> tuple[int, ...]:
    """Initial states from ``train``, ``heldout``, ``all``, numbers and ranges.

    Raises:
        ValueError: There is no such initial state.
    """
    if text in ("train", "heldout", "all"):
        return resolve_split(text, _STATES)
    return _numbers("states", text, range(_STATES))


def make_recipes(
    tasks: Sequence[int],
    states: Sequence[int],
    *,
    seeds: Iterable[int] = (0,),
    noise: float = 0.0,
    grasp_noise: float = 0.0,
    failures: Sequence[Failure] = (),
) -> list[Recipe]:
    """The recipes of a data set, task by task, so that one simulator at a time is enough.

    Args:
        tasks: Task ids.
        states: Initial states of each task.
        seeds: Seeds of each initial state's episodes.
        noise: Standard deviation of the noise on the commands.
        grasp_noise: Standard deviation of the grasp error, m.
        failures: Ways to fail, each in an episode of its own for every task, state and seed.
    """
    return [
        Recipe(task, state, seed, noise, grasp_noise, failure)
        for task in tasks
        for state in states
        for seed in seeds
        for failure in (None, *failures)
    ]


def _numbers(option: str, text: str, allowed: Iterable[int]) -> tuple[int, ...]:
    found = [number for part in text.split(",") for number in _range(option, part)]
    unknown = sorted(set(found) - set(allowed))
    if unknown or len(set(found)) < len(found):
        raise ValueError(
            f"--{option} must name each of {_span(allowed)} at most once, got {text!r}"
        )
    return tuple(found)


def _range(option: str, part: str) -> range:
    first, dash, last = part.strip().partition("-")
    if not first.isdigit() or (dash and not last.isdigit()):
        raise ValueError(f"--{option} takes numbers and ranges such as 0-3,7, got {part!r}")
    return range(int(first), int(last if dash else first) + 1)


def _span(numbers: Iterable[int]) -> str:
    ordered = sorted(numbers)
    return f"{ordered[0]} to {ordered[-1]}"
