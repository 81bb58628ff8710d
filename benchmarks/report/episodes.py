"""One episode, whatever track and time its record is from."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Episode", "number", "text_of"]

_MEASURED = ("measured", "measured_reward", "reward", "score", "is_success", "success")
_PREDICTED = ("predicted", "predicted_reward")
_CORRECTED = ("corrected", "corrected_reward")
_SOLUTION = ("code", "solution", "action", "actions")
_STATUS = ("status", "grade_status")
_LONGEST_SOLUTION = 20_000


@dataclass(frozen=True)
class Episode:
    """One measured or predicted episode.

    Attributes:
        split: ``train``, ``test`` or the run's own word.
        step: The policy's step.
        task: Its task; "" where that was not recorded.
        status: What became of it; "" where that was not recorded.
        solution: What the policy wrote; "" where that was not recorded.
        measured: The real reward; None where there is none.
        predicted: The world model's; None where there is none.
        corrected: The corrected prediction; None where there is none.
    """

    split: str
    step: int
    task: str = ""
    status: str = ""
    solution: str = ""
    measured: float | None = None
    predicted: float | None = None
    corrected: float | None = None

    @classmethod
    def read(cls, record: Mapping[str, Any], split: str, step: int) -> "Episode":
        """Reads a record with any of the tracks' keys."""
        return cls(
            split,
            step,
            text_of(record.get("task", record.get("task_id"))).split("\n")[0],
            text_of(_first(record, _STATUS)) or _success(record),
            _solution(_first(record, _SOLUTION)),
            number(_first(record, _MEASURED)),
            number(_first(record, _PREDICTED)),
            number(_first(record, _CORRECTED)),
        )


def number(value: Any) -> float | None:
    """A value as a finite number; None where it is none."""
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    return None


def _first(record: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def text_of(value: Any) -> str:
    """A value as text; "" of None."""
    return "" if value is None else str(value)


def _success(record: Mapping[str, Any]) -> str:
    value = _first(record, ("is_success", "success"))
    return "" if value is None else "success" if value else "failure"


def _solution(value: Any) -> str:
    """Texts stay, numbers of a motion are left out."""
    turns = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    text = "\n\n".join(turn for turn in turns if isinstance(turn, str))
    cut = len(text) - _LONGEST_SOLUTION
    return text if cut <= 0 else f"{text[:_LONGEST_SOLUTION]}\n… {cut} characters left out"
