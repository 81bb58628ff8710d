"""The ways to ask an OpenAI-compatible server for a grade, and what its answers look like."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

from wmrl_envs.wrappers.world_models.base import Prediction
from wmrl_envs.wrappers.world_models.endpoint_answers import (
    choices,
    content,
    expected_grade,
    listed_tokens,
    misshapen,
    score_of_levels,
)
from wmrl_envs.wrappers.world_models.generation import Generation
from wmrl_envs.wrappers.world_models.grade_scale import GradeScale
from wmrl_envs.wrappers.world_models.grader_prompts import GraderPrompt
from wmrl_envs.wrappers.world_models.scripts import Question
from wmrl_envs.wrappers.world_models.structured_outcome import outcome_prediction, schema

__all__ = [
    "ChatGrade",
    "CompletionGrade",
    "FieldIgnored",
    "JsonOutcome",
    "Mode",
    "ScoreQuestion",
    "TextRooms",
]


class FieldIgnored(Exception):
    """The server answered as if a field of the request had not been there.

    Attributes:
        field: The field's name.
    """

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class Mode(Protocol):
    """One way of asking."""

    @property
    def path(self) -> str:
        """Where to ask, below the server's address."""
        ...

    def payload(self, question: Question) -> dict[str, Any]:
        """The request's JSON, without the model's name and the seed."""
        ...

    def read(self, answer: Mapping[str, Any]) -> Prediction:
        """The prediction in a server's answer.

        Raises:
            FieldIgnored: The server did not do what the request asked for.
            RequestFailed: The answer has not the form of such answers.
        """
        ...

    def read_anyway(self, answer: Mapping[str, Any]) -> Prediction:
        """The prediction in an answer that :meth:`read` refused, as far as it has one."""
        ...


@dataclass(frozen=True)
class TextRooms:
    """The longest texts in a prompt, in characters.

    Attributes:
        task: The longest task text; a longer one loses its middle, and says so.
        code: The longest program, with its line numbers; likewise.

    Raises:
        ValueError: There is too little room to say so.
    """

    task: int = 4_000
    code: int = 8_000

    def __post_init__(self) -> None:
        """Checks the rooms."""
        if self.task < 200 or self.code < 200:
            raise ValueError(
                f"max_task_chars and max_code_chars must be at least 200, got {self.task!r}, "
                f"{self.code!r}"
            )

    def text(self, prompt: GraderPrompt, question: Question) -> str:
        """The prompt for one question, without its cue."""
        return prompt.text(question.task, question.code, self.task, self.code)


@dataclass(frozen=True)
class CompletionGrade:
    """``/completions`` with log-probabilities, the prompt ending where the grade follows."""

    prompt: GraderPrompt
    rooms: TextRooms
    scale: GradeScale
    min_mass: float
    top: int
    path: str = "completions"

    def __post_init__(self) -> None:
        """Checks the settings."""
        _check_grading(self.min_mass, self.top)

    def payload(self, question: Question) -> dict[str, Any]:
        """Asks for one token."""
        text = self.rooms.text(self.prompt, question) + self.prompt.cue
        # At temperature 1 every server's log-probabilities are the model's own.
        return {"prompt": text, "max_tokens": 1, "temperature": 1.0, "logprobs": self.top}

    def read(self, answer: Mapping[str, Any]) -> Prediction:
        """The expected grade over the tokens that the server lists."""
        listed = listed_tokens(choices(answer)[0], "top_logprobs")
        if not isinstance(listed, Mapping):
            raise FieldIgnored("logprobs")
        return expected_grade(listed.items(), self.scale, self.min_mass)

    def read_anyway(self, answer: Mapping[str, Any]) -> Prediction:
        """The grade that was drawn: right on average, and coarse."""
        return Prediction(self.scale.reward(str(choices(answer)[0].get("text", ""))))


@dataclass(frozen=True)
class ChatGrade:
    """``/chat/completions`` with log-probabilities of the first token."""

    prompt: GraderPrompt
    rooms: TextRooms
    scale: GradeScale
    min_mass: float
    top: int
    path: str = "chat/completions"

    def __post_init__(self) -> None:
        """Checks the settings."""
        _check_grading(self.min_mass, self.top)

    def payload(self, question: Question) -> dict[str, Any]:
        """Asks for one token."""
        labels = f"{self.scale.labels[0]} to {self.scale.labels[-1]}"
        text = self.rooms.text(self.prompt, question) + f"\nAnswer with the grade alone ({labels})."
        fields = {"max_tokens": 1, "temperature": 1.0, "logprobs": True, "top_logprobs": self.top}
        return {"messages": _user(text), **fields}

    def read(self, answer: Mapping[str, Any]) -> Prediction:
        """The expected grade over the tokens that the server lists."""
        first = listed_tokens(choices(answer)[0], "content")
        listed = first.get("top_logprobs") if isinstance(first, Mapping) else first
        if not listed:
            raise FieldIgnored("logprobs")
        try:
            pairs = [(entry["token"], entry["logprob"]) for entry in listed]
        except (KeyError, TypeError) as error:
            raise misshapen(answer) from error
        return expected_grade(pairs, self.scale, self.min_mass)

    def read_anyway(self, answer: Mapping[str, Any]) -> Prediction:
        """The grade that was drawn: right on average, and coarse."""
        return Prediction(self.scale.reward(content(choices(answer)[0])))


@dataclass(frozen=True)
class JsonOutcome:
    """``/chat/completions`` with a structured outcome as JSON, the mean over several samples."""

    prompt: GraderPrompt
    rooms: TextRooms
    candidates: int
    samples: int
    generation: Generation
    form: str = "json_schema"
    path: str = "chat/completions"

    def __post_init__(self) -> None:
        """Checks the settings."""
        if self.samples < 1:
            raise ValueError(f"samples must be at least 1, got {self.samples!r}")
        if self.form not in ("json_schema", "json_object"):
            raise ValueError(
                f"response_format must be 'json_schema' or 'json_object', got {self.form!r}"
            )

    def payload(self, question: Question) -> dict[str, Any]:
        """Asks for JSON that follows the schema."""
        return {
            "messages": _user(self.rooms.text(self.prompt, question)),
            "max_tokens": self.generation.max_new_tokens,
            "temperature": self.generation.temperature,
            "top_p": self.generation.top_p,
            "response_format": self._response_format(),
            **({"n": self.samples} if self.samples > 1 else {}),
        }

    def _response_format(self) -> dict[str, Any]:
        form = schema(self.candidates)
        if self.form == "json_object":
            return {"type": "json_object", "schema": form}
        named = {"name": "outcome", "strict": True, "schema": form}
        return {"type": "json_schema", "json_schema": named}

    def read(self, answer: Mapping[str, Any]) -> Prediction:
        """The outcome, if the answer is JSON and there are as many samples as asked for."""
        found = choices(answer)
        if len(found) < self.samples:
            raise FieldIgnored("n")
        # A text that was cut off is no JSON either; the server did what it could.
        whole = [choice for choice in found if choice.get("finish_reason") != "length"]
        if not all(_is_json_object(content(choice)) for choice in whole):
            raise FieldIgnored("response_format")
        return self.read_anyway(answer)

    def read_anyway(self, answer: Mapping[str, Any]) -> Prediction:
        """The mean over the samples that can be read, and the feedback of the first of them."""
        texts = [content(choice) for choice in choices(answer)]
        found = [outcome_prediction(text, self.candidates) for text in texts]
        rewards = [outcome.reward for outcome in found if outcome.reward is not None]
        feedback = next((outcome.feedback for outcome in found if outcome.feedback), "")
        return Prediction(fmean(rewards) if rewards else None, feedback)


@dataclass(frozen=True)
class ScoreQuestion:
    """``/systemone`` of ``transformers serve``: a typed question, answered in one forward pass."""

    prompt: GraderPrompt
    rooms: TextRooms
    scale: GradeScale
    path: str = "systemone"

    def payload(self, question: Question) -> dict[str, Any]:
        """Asks which of the grades with a meaning fits best."""
        levels = [meaning for meaning in self.scale.meanings if meaning]
        score = {"type": "score", "instructions": "Which fits best?", "criteria": levels}
        return {"state": self.rooms.text(self.prompt, question), "questions": {"grade": score}}

    def read(self, answer: Mapping[str, Any]) -> Prediction:
        """The expected grade over the levels."""
        pairs = zip(self.scale.rewards, self.scale.meanings, strict=True)
        rewards = [reward for reward, meaning in pairs if meaning]
        try:
            found = answer["answers"]["grade"]["probabilities"]
            masses = [found[str(level)] for level in range(len(rewards))]
        except (KeyError, TypeError) as error:
            raise misshapen(answer) from error
        return score_of_levels(masses, rewards)

    def read_anyway(self, answer: Mapping[str, Any]) -> Prediction:
        """The same: there is nothing that the server could leave out."""
        return self.read(answer)


def _check_grading(min_mass: float, top: int) -> None:
    if not 0 <= min_mass <= 1:
        raise ValueError(f"min_mass must be in [0, 1], got {min_mass!r}")
    if top < 2:
        raise ValueError(f"top_logprobs must be at least 2, got {top!r}")


def _user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
