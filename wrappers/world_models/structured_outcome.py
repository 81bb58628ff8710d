"""The structured outcome that a language model predicts: status, error, quality, feedback.

The form is that of WMRL (arXiv 2608.12564): one JSON object with one or more candidate outcomes,
the likeliest first. The first one is the reward, all of them are the feedback.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wmrl_envs.autoresearch.grading import Grade, GradeStatus, ladder_reward
from wmrl_envs.wrappers.world_models.base import Prediction

__all__ = [
    "QUALITIES",
    "PredictedOutcome",
    "outcome_prediction",
    "parse_outcomes",
    "quality_of",
    "schema",
    "wording",
]

QUALITIES = {"low": 0.05, "fair": 0.20, "mid": 0.45, "high": 0.75}
"""Quality bucket -> leaderboard position (the reference implementation's figures)."""

_UPPER_EDGES = {"low": 0.1, "fair": 0.3, "mid": 0.6}
_STATUSES = tuple(
    status
    for status in GradeStatus
    if status not in (GradeStatus.MALFORMED, GradeStatus.SYNTAX_ERROR)
)
_LONGEST_FEEDBACK = 2_000
_LONGEST_TEXT = 20_000
_OBJECT = re.compile(r'\{\s*"')
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class PredictedOutcome:
    """One candidate for what becomes of a program that compiles.

    Attributes:
        status: What becomes of it.
        error_type: The exception's class; "" where there is none.
        error_line: The line that it is raised in, counted from 1; None where there is none.
        quality: One of :data:`QUALITIES` if the status is ``valid``, else "".
        feedback: What the program or the grader would say.

    Example:
        >>> PredictedOutcome(GradeStatus.VALID, quality="mid").reward
        0.725
    """

    status: GradeStatus
    error_type: str = ""
    error_line: int | None = None
    quality: str = ""
    feedback: str = ""

    @property
    def reward(self) -> float:
        """The ladder's reward, at the position that the quality stands for."""
        if self.status is not GradeStatus.VALID:
            return ladder_reward(Grade(self.status))
        position = QUALITIES[self.quality]
        return ladder_reward(Grade(self.status, score=position, position=position))

    def record(self) -> dict[str, Any]:
        """The JSON-able record that :func:`parse_outcomes` reads."""
        return {**vars(self), "status": self.status.value}


def quality_of(position: float) -> str:
    """The bucket of a leaderboard position in [0, 1].

    Example:
        >>> [quality_of(position) for position in (0.05, 0.2, 0.5, 0.9)]
        ['low', 'fair', 'mid', 'high']
    """
    return next((name for name, edge in _UPPER_EDGES.items() if position < edge), "high")


def schema(candidates: int) -> dict[str, Any]:
    """The JSON schema of an answer with 1 to ``candidates`` outcomes."""
    outcome = {
        "status": {"type": "string", "enum": [status.value for status in _STATUSES]},
        "error_type": {"type": "string", "maxLength": 80},
        "error_line": {"type": ["integer", "null"]},
        "quality": {"type": "string", "enum": [*QUALITIES, ""]},
        "feedback": {"type": "string", "maxLength": 420},
    }
    items = {**_object(outcome), "title": "outcome"}
    predictions = {"type": "array", "minItems": 1, "maxItems": candidates, "items": items}
    return _object({"reason": {"type": "string", "maxLength": 300}, "predictions": predictions})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def parse_outcomes(text: str, candidates: int) -> tuple[PredictedOutcome, ...]:
    """Reads the outcomes out of whatever a language model wrote.

    Text around the object does not matter, nor does an end that is missing after a whole outcome.

    Args:
        text: The model's answer.
        candidates: The most outcomes to return.

    Returns:
        Outcomes, the likeliest first; none if the first one cannot be read.

    Example:
        >>> [outcome] = parse_outcomes('Sure: {"status": "timeout", "feedback": "too slow"}', 2)
        >>> outcome.reward, outcome.feedback
        (0.1, 'too slow')
        >>> parse_outcomes("It will probably work.", 2)
        ()
    """
    found: list[PredictedOutcome] = []
    for record in _records(text[:_LONGEST_TEXT].rpartition("</think>")[2]):
        outcome = _outcome(record)
        if outcome is None or len(found) == candidates:
            break
        found.append(outcome)
    return tuple(found)


def outcome_prediction(text: str, candidates: int) -> Prediction:
    """What a model's answer predicts: the first outcome's reward, and feedback with all of them.

    Example:
        >>> outcome_prediction('{"status": "timeout", "feedback": ""}', candidates=2)
        Prediction(reward=0.1, feedback='predicted: timeout', std=None)
        >>> outcome_prediction("It will probably work.", candidates=2)
        Prediction(reward=None, feedback='', std=None)
    """
    outcomes = parse_outcomes(text, candidates)
    return Prediction(outcomes[0].reward if outcomes else None, wording(outcomes))


def wording(outcomes: Sequence[PredictedOutcome]) -> str:
    """The outcomes as feedback for the agent; "" for none.

    Example:
        >>> print(wording([PredictedOutcome(GradeStatus.RUNTIME_ERROR, "KeyError", 3, "", "'x'")]))
        predicted: runtime_error, KeyError in line 3
        'x'
    """
    parts = [_worded(outcome) for outcome in outcomes]
    return "\nor else ".join(parts)


def _worded(outcome: PredictedOutcome) -> str:
    error = outcome.error_type or ("an error" if outcome.error_line else "")
    where = f" in line {outcome.error_line}" if outcome.error_line else ""
    quality = f"{outcome.quality} quality" if outcome.quality else ""
    head = ", ".join(filter(None, [outcome.status.value, error + where, quality]))
    return "\n".join(filter(None, [f"predicted: {head}", outcome.feedback]))


def _records(text: str) -> Iterator[Mapping[str, Any]]:
    """The outcomes' records in the text, those of a list before what follows it."""
    end = 0
    while begin := _OBJECT.search(text, end):
        try:
            value, end = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            value, end = {}, begin.start() + 1
        yield from _within(value)


def _within(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    listed = value.get("predictions")
    if isinstance(listed, list):
        yield from (
            record if isinstance(record, Mapping) else {"status": None} for record in listed
        )
    elif "status" in value:
        yield value


def _outcome(record: Mapping[str, Any]) -> PredictedOutcome | None:
    status = _status(record.get("status"))
    valid = status is GradeStatus.VALID
    quality = str(record.get("quality", record.get("quality_bucket", ""))).strip().lower()
    if status is None or (valid and quality not in QUALITIES):
        return None
    return PredictedOutcome(
        status,
        error_type="" if valid else _text(record.get("error_type"))[:80],
        error_line=None if valid else _line(record.get("error_line")),
        quality=quality if valid else "",
        feedback=_text(record.get("feedback"))[:_LONGEST_FEEDBACK],
    )


def _status(value: Any) -> GradeStatus | None:
    name = _text(value).lower().replace(" ", "_")
    return next((status for status in _STATUSES if status.value == name), None)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _line(value: Any) -> int | None:
    digits = str(value).strip()
    return int(digits) if digits.isascii() and digits.isdigit() and 0 < len(digits) < 7 else None
