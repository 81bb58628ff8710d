"""What a language model is told and asked when it grades a program without running it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wmrl_envs.autoresearch.grading import GradeStatus
from wmrl_envs.wrappers.world_models.cutting import cut_text, split_room
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode
from wmrl_envs.wrappers.world_models.gate import compiling_scripts
from wmrl_envs.wrappers.world_models.grade_scale import GradeScale
from wmrl_envs.wrappers.world_models.structured_outcome import (
    QUALITIES,
    PredictedOutcome,
    quality_of,
)

__all__ = ["GraderPrompt", "grade_prompt", "numbered", "outcome_prompt", "task_parts"]

_TASK, _PROGRAM, _END = "## Task\n\n", "\n\n## Program\n\n```\n", "\n```\n"
_INVENTORY = "\n## Data inventory\n"
_EXAMPLE_TASK, _EXAMPLE_CODE = 1_000, 2_000

_GRADE = """You grade Python programs that should solve a machine-learning task, without running \
them. Read the task and its data, then the program with its numbered lines, and answer with one \
grade:
{legend}"""

_OUTCOME = """You predict what becomes of a Python program that should solve a machine-learning \
task, without running it. Read the task and its data, then the program with its numbered lines, \
and answer with one JSON object and nothing else:
{{"reason": "at most 300 characters", "predictions": [{{"status": "...", "error_type": "the \
exception's class or empty", "error_line": 12 or null, "quality": "...", "feedback": "what the \
program or the grader would print, at most 420 characters"}}]}}
Give {candidates}. The status is one of {statuses}. The quality is \
empty unless the status is valid; then it is one of {qualities}, for the submission's place on the \
leaderboard."""


@dataclass(frozen=True)
class GraderPrompt:
    """A prompt in the order in which its parts are shared: by all tasks, by a task, by none.

    Attributes:
        opening: Instructions and examples, up to the task's text.
        cue: What the model's answer begins with; "" where it begins by itself.
    """

    opening: str
    cue: str
    middle: str = _PROGRAM
    closing: str = _END

    def text(self, task: str, code: str, task_room: int, code_room: int) -> str:
        """The prompt without its cue, each part cut to so many characters."""
        head, tail = task_parts(task)
        rooms = split_room(len(head), len(tail), task_room)
        shown = "".join(
            cut_text(part, room) for part, room in zip((head, tail), rooms, strict=True)
        )
        return (
            self.opening + shown + self.middle + cut_text(numbered(code), code_room) + self.closing
        )


def grade_prompt(scale: GradeScale, examples: Sequence[LoggedEpisode] = ()) -> GraderPrompt:
    """Asks for one label of a scale.

    Args:
        scale: The labels and their meanings.
        examples: Executed episodes, shown with the label nearest to their reward.
    """
    shown = _examples(examples, lambda example: f"Grade: {scale.nearest(example.reward)}")
    return GraderPrompt(_GRADE.format(legend=scale.legend()) + "\n\n" + shown + _TASK, "Grade: ")


def outcome_prompt(candidates: int, examples: Sequence[LoggedEpisode] = ()) -> GraderPrompt:
    """Asks for a structured outcome as JSON.

    Args:
        candidates: The most outcomes to ask for, at least 1.
        examples: Executed episodes with a status, shown with their outcome.

    Raises:
        ValueError: ``candidates`` is below 1, or an example has no status.
    """
    if candidates < 1:
        raise ValueError(f"candidates must be at least 1, got {candidates!r}")
    many = f"1 to {candidates} predictions, the likeliest first"
    instructions = _OUTCOME.format(
        candidates="one prediction" if candidates == 1 else many,
        statuses=", ".join(s.value for s in list(GradeStatus)[2:]),
        qualities=", ".join(QUALITIES),
    )
    return GraderPrompt(instructions + "\n\n" + _examples(examples, _outcome) + _TASK, "")


def numbered(code: str) -> str:
    """The code with its line numbers, from 1.

    Example:
        >>> print(numbered("import os" + chr(10) + "print(1)"))
        1 import os
        2 print(1)
    """
    return "\n".join(f"{n} {line}" for n, line in enumerate(code.split("\n"), start=1))


def task_parts(task: str) -> tuple[str, str]:
    """A task's description, and its data inventory with all that follows ("" if there is none).

    A long description must not push the inventory out of the prompt.
    """
    head, heading, tail = task.partition(_INVENTORY)
    return head, heading + tail


def _examples(examples: Sequence[LoggedEpisode], answer: Callable[[LoggedEpisode], str]) -> str:
    return "".join(
        f"## Example {n}\n\n{cut_text(example.task, _EXAMPLE_TASK)}{_PROGRAM}"
        f"{cut_text(numbered(_script(example)), _EXAMPLE_CODE)}{_END}{answer(example)}\n\n"
        for n, example in enumerate(examples, start=1)
    )


def _script(example: LoggedEpisode) -> str:
    scripts = compiling_scripts(example.episode)
    if not scripts:
        raise ValueError(f"examples must hold code that compiles, got {example.actions!r:.80}")
    return scripts[-1]


def _outcome(example: LoggedEpisode) -> str:
    try:
        status = GradeStatus(example.status)
    except ValueError as error:
        raise ValueError(f"examples must have a grade's status, got {example.status!r}") from error
    quality = quality_of(2 * example.reward - 1) if status is GradeStatus.VALID else ""
    outcome = PredictedOutcome(status, quality=quality)
    return json.dumps({"reason": "", "predictions": [outcome.record()]})
