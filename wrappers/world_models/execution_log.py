"""The execution log: what was executed and how it was rewarded, as JSON Lines (UTF-8).

One line an episode, an object with the fields

* ``task`` (text): the task as the world model will see it, the observation's ``task``;
* ``actions`` (list of at least one text): the solutions, a turn each, in order;
* ``reward`` (finite number): the measured reward of the episode;
* ``status`` (text, may be left out): what became of the last submission, a ``GradeStatus``;
* ``name`` (text, may be left out): the task's name.

Further fields are ignored, and so are empty lines. ``docs/execution-log.md`` has an example.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wmrl_envs.wrappers.world_models.base import Episode


@dataclass(frozen=True)
class LoggedEpisode:
    """One executed episode.

    Attributes:
        task: The task's text, as the world model will see it.
        actions: The solution texts, in order.
        reward: The measured reward.
        status: The grade's status, or "".
        name: The task's name, or "".

    Raises:
        TypeError: ``actions`` is no tuple of texts, or another text is none.
        ValueError: There is no action, or ``reward`` is not finite.
    """

    task: str
    actions: tuple[str, ...]
    reward: float
    status: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        """Checks every field."""
        for name in ("task", "status", "name"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a text, got {getattr(self, name)!r}")
        if not isinstance(self.actions, tuple) or not all(
            isinstance(action, str) for action in self.actions
        ):
            raise TypeError(f"actions must be a tuple of texts, got {self.actions!r}")
        if not self.actions:
            raise ValueError("actions must hold at least one text, got none")
        if isinstance(self.reward, bool) or not math.isfinite(self.reward):
            raise ValueError(f"reward must be a finite number, got {self.reward!r}")

    @property
    def episode(self) -> Episode:
        """What a world model gets to see."""
        return Episode(self.task, self.actions)


def write_log(path: Path | str, episodes: Iterable[LoggedEpisode], *, append: bool = False) -> int:
    """Writes episodes to a file.

    Args:
        path: The file; its folder is made if it is missing.
        episodes: The episodes.
        append: Whether to keep what the file holds.

    Returns:
        The number of episodes written.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("a" if append else "w", encoding="utf-8") as file:
        for episode in episodes:
            file.write(json.dumps(vars(episode)) + "\n")
            count += 1
    return count


def read_log(path: Path | str) -> list[LoggedEpisode]:
    """Reads a file that :func:`write_log` or another program wrote.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is no UTF-8 text, or a line is no such episode; the message names the
            file and the line.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: no execution log, not UTF-8 text: {error}") from error
    episodes = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            episodes.append(_parse(line, f"{path}, line {number}"))
    return episodes


def _parse(line: str, where: str) -> LoggedEpisode:
    try:
        record = json.loads(line)
        actions = record["actions"]
        if isinstance(actions, list):
            actions = tuple(actions)
        optional = {name: record[name] for name in ("status", "name") if name in record}
        return LoggedEpisode(record["task"], actions, record["reward"], **optional)
    except KeyError as error:
        raise ValueError(f"{where}: {error} is missing in {line[:80]!r}") from error
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error} in {line[:80]!r}") from error
