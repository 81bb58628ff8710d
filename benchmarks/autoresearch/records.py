"""The files of a run folder: JSON Lines that grow while a run goes on and survive its death.

``config.json`` holds the settings, ``log.jsonl`` and ``log_costs.json`` the world model's execution
log and what it cost, ``steps.jsonl`` a line a step, ``evaluations.jsonl`` a line an evaluation,
``anchors.jsonl`` the executed anchor episodes, ``checkpoint.pt`` the learner, and ``policy``, which
comes last, the trained policy.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any


class SettingsError(ValueError):
    """A setting cannot be had; the message names it."""


@dataclass(frozen=True)
class Costs:
    """What grading and learning cost, in executions and CPU seconds.

    Attributes:
        executions: Executed submissions, repeated ones included.
        execution: CPU seconds of the executions; a repeated submission is charged its first run's.
        world_model: CPU seconds of the world model's fits and predictions.
        generation: CPU seconds of sampling.
        update: CPU seconds of the policy's updates.
    """

    executions: int = 0
    execution: float = 0.0
    world_model: float = 0.0
    generation: float = 0.0
    update: float = 0.0

    @property
    def cpu_seconds(self) -> float:
        """All CPU seconds."""
        return self.execution + self.world_model + self.generation + self.update

    def __add__(self, other: "Costs") -> "Costs":
        return Costs(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Costs)))

    def __sub__(self, other: "Costs") -> "Costs":
        return Costs(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(Costs)))

    def scaled(self, factor: float) -> "Costs":
        """A share of these costs."""
        return Costs(
            round(self.executions * factor), *(v * factor for v in list(vars(self).values())[1:])
        )


def replace_file(path: Path, text: str) -> None:
    """Writes a file, in its folder, so that a kill leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Adds one line to a JSON Lines file; numbers that are not finite become null."""
    with path.open("a", encoding="utf-8") as file:
        file.write(_line(record))


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Writes a record as a JSON file; numbers that are not finite become null."""
    replace_file(path, json.dumps(_finite(record), indent=2, allow_nan=False) + "\n")


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(_finite(record), allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """JSON knows neither NaN nor infinity."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Reads a JSON Lines file; a missing file, and a line that a kill cut short, hold nothing."""
    return list(_lines(path)) if path.exists() else []


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            return


def keep_until(path: Path, step: int) -> list[dict[str, Any]]:
    """Drops the lines of later steps, which a resumed run is going to write again."""
    kept = [record for record in read_lines(path) if record["step"] <= step]
    if path.exists():
        replace_file(path, "".join(map(_line, kept)))
    return kept


def is_finished(folder: Path) -> bool:
    """Whether a run folder's run came to its end."""
    return (folder / "policy").is_dir()


def write_costs(path: Path, costs: Costs, episodes: int) -> None:
    """Writes what an execution log of so many episodes cost."""
    replace_file(path, _line({"episodes": episodes, **asdict(costs)}))


def read_costs(path: Path) -> tuple[Costs, int]:
    """Reads what :func:`write_costs` wrote: the costs and the number of episodes.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It holds something else.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        episodes = record.pop("episodes")
        return Costs(**record), episodes
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not the costs of an execution log: {error!r}") from error


def check_log(folder: Path, episodes: int) -> None:
    """Checks that a folder holds an execution log of so many episodes.

    Raises:
        SettingsError: It holds none, or a shorter one.
    """
    try:
        available = read_costs(folder / "log_costs.json")[1]
    except (OSError, ValueError) as error:
        raise SettingsError(f"{folder} holds no execution log: {error}") from error
    if available < episodes:
        raise SettingsError(
            f"{folder} holds a log of {available} episodes; log_episodes must not exceed that, "
            f"got {episodes}"
        )
