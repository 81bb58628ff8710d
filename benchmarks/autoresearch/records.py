"""The files of a run folder: JSON Lines that grow while a run goes on and survive its death.

``config.json`` holds the settings, ``log.jsonl`` and ``log_costs.json`` the world model's execution log
and what it cost, ``steps.jsonl`` a line a step, ``evaluations.jsonl`` a line an evaluation,
``anchors.jsonl`` the executed anchor episodes, ``checkpoint.pt`` the learner.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any


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

    def scaled(self, factor: float) -> "Costs":
        """A share of these costs."""
        return Costs(round(self.executions * factor), *(v * factor for v in list(vars(self).values())[1:]))


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Adds one line to a JSON Lines file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Reads a JSON Lines file; a line cut short by a killed writer, and a missing file, hold nothing."""
    return list(_lines(path)) if path.exists() else []


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def keep_until(path: Path, step: int) -> list[dict[str, Any]]:
    """Drops the lines of later steps, which a resumed run is going to write again."""
    kept = [record for record in read_lines(path) if record["step"] <= step]
    if path.exists():
        path.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
    return kept


def write_costs(path: Path, costs: Costs, episodes: int) -> None:
    """Writes what an execution log of so many episodes cost."""
    path.write_text(json.dumps({"episodes": episodes, **asdict(costs)}) + "\n", encoding="utf-8")


def read_costs(path: Path) -> tuple[Costs, int]:
    """Reads what :func:`write_costs` wrote: the costs and the number of episodes."""
    record = json.loads(path.read_text(encoding="utf-8"))
    episodes = record.pop("episodes")
    return Costs(**record), episodes
