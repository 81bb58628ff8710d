"""Choosing examples for a prompt from an execution log."""

from collections.abc import Sequence
from pathlib import Path

from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode, read_log
from wmrl_envs.wrappers.world_models.gate import compiling_scripts

__all__ = ["Examples", "choose_examples", "chosen_examples"]

Examples = Sequence[LoggedEpisode] | Path | str
"""Executed episodes, or the file of an execution log."""


def choose_examples(log: Sequence[LoggedEpisode], count: int) -> list[LoggedEpisode]:
    """Chooses episodes whose rewards are spread evenly over those of the log.

    Args:
        log: Executed episodes. Those whose code does not compile teach nothing and are left out,
            and so are those of several turns, whose reward belongs to none of them in particular.
        count: How many to choose.

    Returns:
        ``count`` episodes or, if there are fewer, all, from the lowest reward to the highest; of
        equal rewards the shortest comes first.

    Raises:
        ValueError: ``count`` is negative.

    Example:
        >>> log = [LoggedEpisode("", (f"x = {i}",), i / 8) for i in range(9)]
        >>> [example.reward for example in choose_examples(log, 3)]
        [0.0, 0.5, 1.0]
    """
    if count < 0:
        raise ValueError(f"count must be at least 0, got {count!r}")
    usable = [e for e in log if len(e.actions) == 1 and compiling_scripts(e.episode)]
    usable.sort(key=lambda e: (e.reward, len(e.actions[0]), e.actions[0]))
    if count >= len(usable):
        return usable
    step = (len(usable) - 1) / max(count - 1, 1)
    return [usable[round(i * step)] for i in range(count)]


def chosen_examples(examples: Examples, shots: int | None) -> Sequence[LoggedEpisode]:
    """The examples to show: those given, or those read from a file; ``shots`` of them if stated.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is no execution log, or ``shots`` is negative.
    """
    found = read_log(examples) if isinstance(examples, (str, Path)) else examples
    return found if shots is None else choose_examples(found, shots)
