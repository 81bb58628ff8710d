"""The execution log: what was executed and how it was rewarded, as JSON Lines.

One line an episode: ``{"task": text, "actions": [text, ...], "reward": number, "status": text,
"name": text}``. ``status`` and ``name`` (the task's name) may be left out.
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
    """

    task: str
    actions: tuple[str, ...]
    reward: float
    status: str = ""
    name: str = ""

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
            file.write(json.dumps({**vars(episode), "actions": list(episode.actions)}) + "\n")
            count += 1
    return count


def read_log(path: Path | str) -> list[LoggedEpisode]:
    """Reads a file that :func:`write_log` or another program wrote.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: A line is not such an episode; the message names the file and the line.
    """
    path = Path(path)
    episodes = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            episodes.append(_parse(line, f"{path}, line {number}"))
    return episodes


def _parse(line: str, where: str) -> LoggedEpisode:
    try:
        record = json.loads(line)
        reward = float(record["reward"])
        actions = tuple(record["actions"])
        task = record["task"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{where}: not a logged episode ({error!r}): {line[:80]!r}") from error
    if not isinstance(task, str) or not all(isinstance(a, str) for a in actions) or not actions:
        raise ValueError(
            f"{where}: task must be a text and actions a list of texts, got {line[:80]!r}"
        )
    if not math.isfinite(reward):
        raise ValueError(f"{where}: reward must be finite, got {reward!r}")
    return LoggedEpisode(task, actions, reward, record.get("status", ""), record.get("name", ""))
