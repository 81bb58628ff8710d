"""Reading the answers of OpenAI-compatible servers, whatever shape they have."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wmrl_envs.wrappers.world_models.base import Prediction
from wmrl_envs.wrappers.world_models.grade_scale import GradeScale
from wmrl_envs.wrappers.world_models.http_json import RequestFailed

__all__ = ["choices", "content", "expected_grade", "listed_tokens", "misshapen", "score_of_levels"]

_ROUNDING = 0.01
"""How far probabilities may be from 1 together."""


def misshapen(answer: Any) -> RequestFailed:
    """The error of an answer that has another shape than such answers."""
    return RequestFailed(f"the answer has not the form of such answers: {answer!r:.300}")


def choices(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The answer's choices in the order of their index.

    Raises:
        RequestFailed: There is none, or one is no object or has an index that is no integer.
    """
    found = answer.get("choices")
    if not isinstance(found, list) or not found:
        raise misshapen(answer)
    if not all(isinstance(c, Mapping) and isinstance(c.get("index") or 0, int) for c in found):
        raise misshapen(answer)
    return sorted(found, key=lambda choice: choice.get("index") or 0)


def content(choice: Mapping[str, Any]) -> str:
    """The message's text; "" where there is none."""
    message = choice.get("message")
    text = message.get("content") if isinstance(message, Mapping) else None
    return text if isinstance(text, str) else ""


def listed_tokens(choice: Mapping[str, Any], name: str) -> Any:
    """What a choice's log-probabilities list for the first token; None where they are missing.

    Raises:
        RequestFailed: They are no object, or hold no list.
    """
    logs = choice.get("logprobs") or {}
    listed = (logs.get(name) or []) if isinstance(logs, Mapping) else None
    if not isinstance(listed, list):
        raise misshapen(choice)
    return listed[0] if listed else None


def expected_grade(
    listed: Iterable[tuple[Any, Any]], scale: GradeScale, min_mass: float
) -> Prediction:
    """The expected grade; a label's spellings with and without a blank count together.

    Args:
        listed: Tokens and their log-probabilities; None as one is that of a token without mass,
            as JSON has no infinity.
        scale: The grades.
        min_mass: The least probability that the grades must have together.

    Raises:
        RequestFailed: A log-probability is no number.
    """
    masses: dict[str, float] = {}
    for token, log_probability in listed:
        label = str(token).strip()
        if label in scale.labels and log_probability is not None:
            masses[label] = masses.get(label, 0.0) + math.exp(min(_number(log_probability), 0.0))
    return Prediction(scale.expected(masses, min_mass))


def score_of_levels(probabilities: Sequence[Any], rewards: Sequence[float]) -> Prediction:
    """The expected reward over levels whose probabilities sum to 1.

    Raises:
        RequestFailed: They are no probabilities, or do not sum to 1.
    """
    masses = [_number(probability) for probability in probabilities]
    total = math.fsum(masses)
    if not (all(mass >= 0 for mass in masses) and abs(total - 1) <= _ROUNDING):
        raise RequestFailed(f"the levels' probabilities must sum to 1, got {masses}")
    return Prediction(math.fsum(map(math.prod, zip(masses, rewards, strict=True))) / total)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RequestFailed(f"a probability must be a number, got {value!r:.80}")
    return float(value)
