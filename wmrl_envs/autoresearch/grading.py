"""From an action to a grade: finding the code, grading the submission, the reward ladder."""

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from wmrl_envs.autoresearch.answers import AnswerKey, Half
from wmrl_envs.autoresearch.leaderboard import Ranking, mean_position
from wmrl_envs.autoresearch.submission import read_predictions
from wmrl_envs.autoresearch.table import TableError

__all__ = ["Grade", "GradeStatus", "compiles", "extract_code", "grade_submission", "ladder_reward"]


class GradeStatus(str, Enum):
    """What became of an action, from the worst to the best."""

    MALFORMED = "malformed"
    """No code in the action."""
    SYNTAX_ERROR = "syntax_error"
    """The code does not compile."""
    RUNTIME_ERROR = "runtime_error"
    """The program failed."""
    TIMEOUT = "timeout"
    """The program ran out of time."""
    MEMORY = "memory"
    """The program ran out of memory."""
    NO_SUBMISSION = "no_submission"
    """The program ended well and wrote no submission."""
    INVALID_SUBMISSION = "invalid_submission"
    """The submission breaks the contract; the message says how."""
    VALID = "valid"
    """The submission was scored."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Grade:
    """The grade of one action.

    Attributes:
        status: What became of it.
        score: The metric's value, finite; None unless valid.
        position: The leaderboard position score in [0, 1]; None unless valid.
        message: One line for the agent.

    Raises:
        ValueError: A valid grade lacks score or position, or another one has them.
    """

    status: GradeStatus
    score: float | None = None
    position: float | None = None
    message: str = ""

    def __post_init__(self) -> None:
        wanted = self.status is GradeStatus.VALID
        if (self.score is not None, self.position is not None) != (wanted, wanted):
            raise ValueError(
                "score and position must be given for valid grades and for no others, got "
                f"status={self.status}, score={self.score!r}, position={self.position!r}"
            )


_LADDER: Final = {
    GradeStatus.MALFORMED: 0.0,
    GradeStatus.SYNTAX_ERROR: 0.0,
    GradeStatus.RUNTIME_ERROR: 0.1,
    GradeStatus.TIMEOUT: 0.1,
    GradeStatus.MEMORY: 0.1,
    GradeStatus.NO_SUBMISSION: 0.2,
    GradeStatus.INVALID_SUBMISSION: 0.2,
}


def ladder_reward(grade: Grade) -> float:
    """The reward ladder: each step towards a good submission pays, in [0, 1].

    Example:
        >>> ladder_reward(Grade(GradeStatus.VALID, score=0.8, position=0.5))
        0.75
        >>> ladder_reward(Grade(GradeStatus.TIMEOUT))
        0.1
    """
    if grade.position is not None:
        return 0.5 + 0.5 * grade.position
    return _LADDER[grade.status]


def grade_submission(
    submission: bytes | None, key: AnswerKey, boards: Sequence[Ranking], half: Half = "score"
) -> Grade:
    """Grades the bytes of a submission; whatever they are, the answer is a grade.

    The whole submission is validated, whichever half is scored.

    Args:
        submission: The bytes of ``submission.csv``; None when the program wrote none.
        key: The answers.
        boards: At least one leaderboard, or whatever else gives a score its position.
        half: ``score`` for the final reward, ``feedback`` for what the agent may see between turns,
            ``all`` for both together.

    Returns:
        A grade with status ``no_submission``, ``invalid_submission`` or ``valid``.

    Raises:
        TypeError: ``submission`` is neither bytes nor None.
        ValueError: ``half`` is unknown.
    """
    if half not in key.halves:
        raise ValueError(f"half must be one of {', '.join(key.halves)}, got {half!r}")
    if submission is None:
        return Grade(GradeStatus.NO_SUBMISSION, message="no submission.csv was written")
    if not isinstance(submission, bytes):
        raise TypeError(f"submission must be bytes or None, got {type(submission).__name__}")
    try:
        score = _score(submission, key, half)
    except TableError as error:
        return Grade(GradeStatus.INVALID_SUBMISSION, message=f"submission.csv: {error}")
    return Grade(
        GradeStatus.VALID,
        score=score,
        position=mean_position(score, boards),
        message=f"{key.spec.metric} {score:.6g} ({_direction(key)} is better)",
    )


def _score(submission: bytes, key: AnswerKey, half: Half) -> float:
    predictions = read_predictions(submission, key)
    try:
        score = key.measure(predictions, half)
    except ValueError as error:
        raise TableError(f"{key.spec.metric}: {error}") from None
    if not math.isfinite(score):
        raise TableError(f"{key.spec.metric} is not finite: the predictions are too large")
    return score


def _direction(key: AnswerKey) -> str:
    return "higher" if key.metric.higher_is_better else "lower"


_PYTHON_TAG: Final = re.compile(r"\{?\.?py(?:thon)?[\d.]*(?![\w+-])", re.IGNORECASE)
_CLOSING_INDENT: Final = 3
_LONGEST_DOTTED_NAME: Final = 1_000
_BETWEEN_NAMES: Final = " \t\f\r\n\\"
_STATEMENT: Final = re.compile(
    r"^[ \t]*(?:import[ \t]+\w|from[ \t]+[\w.]+[ \t]+import\b|(?:def|class)[ \t]+\w|@\w"
    r"|(?:for|while|if|with)\b.*:|try[ \t]*:|(?:raise|return|assert|del|pass|global)\b"
    r"|[A-Za-z_][\w.\[\]'\", ]*[-+*/%|&]?=[^=]|[A-Za-z_][\w.]*\()",
    re.MULTILINE,
)


def extract_code(action: str) -> str | None:
    r"""Finds the program in an action.

    Fenced blocks tagged as Python win over blocks without a tag; among equals the last one counts,
    because models draft first. A fence that never closes reaches to the end of the text (a
    truncated answer), and a block in a list item loses the item's indentation. Blocks in other
    languages are no code. Without any fence the whole text is taken if at least one of its lines
    looks like a Python statement.

    Returns:
        The program, or None if there is nothing that could be code.

    Example:
        >>> extract_code("Here it is:\n```python\nprint(1)\n```")
        'print(1)\n'
        >>> extract_code("I would rather not.") is None
        True
    """
    text = action.replace("\r\n", "\n")
    blocks = list(_fenced_blocks(text))
    if not blocks:
        return text if _STATEMENT.search(text) else None
    tagged = [body for tag, body in blocks if _PYTHON_TAG.match(tag) and body.strip()]
    plain = [body for tag, body in blocks if not tag and body.strip()]
    found = tagged or plain
    return found[-1] if found else None


@dataclass(frozen=True)
class _Fence:
    """A line that opens or closes a block."""

    indent: int
    mark: str
    tag: str

    def closes(self, opening: "_Fence") -> bool:
        """As in CommonMark: a fence that lies deeper (in a docstring, say) belongs to the block."""
        bare = not self.tag and self.mark.startswith(opening.mark)
        return bare and self.indent - opening.indent <= _CLOSING_INDENT


def _fenced_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Tag and body of each Markdown fence, in one pass over the lines."""
    opening: _Fence | None = None
    body = list[str]()
    for line in text.split("\n"):
        fence = _fence(line)
        if opening is None and fence:
            opening, body = fence, []
        elif opening is not None and fence and fence.closes(opening):
            yield opening.tag, "".join(body)
            opening = None
        elif opening is not None:
            body.append(_dedented(line, opening.indent) + "\n")
    if opening is not None:
        yield opening.tag, "".join(body)


def _fence(line: str) -> _Fence | None:
    """A line's fence (three or more backticks or tildes, perhaps a tag), if it is one."""
    text = line.strip()
    if not text.startswith(("```", "~~~")):
        return None
    rest = text.lstrip(text[0])
    if "`" in rest:
        return None
    words = rest.split(maxsplit=1)
    indent = len(line) - len(line.lstrip())
    return _Fence(indent, text[: len(text) - len(rest)], words[0] if words else "")


def _dedented(line: str, indent: int) -> str:
    """The line without its first ``indent`` columns, as far as they are blank."""
    return line[:indent].lstrip(" \t") + line[indent:]


def compiles(code: str) -> str | None:
    """None if the code compiles, else the compiler's message with the line."""
    if _longest_dotted_name(code) > _LONGEST_DOTTED_NAME:
        return f"SyntaxError: a dotted name has more than {_LONGEST_DOTTED_NAME} parts"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "solution.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{type(error).__name__}: {error}"
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return None


def _longest_dotted_name(code: str) -> int:
    """The most names in a row with nothing but dots between them.

    CPython's parser copies an imported name once for each of its parts: ``import a.a.a`` with
    100,000 of them would hold this process, and every thread of it, for half a minute.
    """
    longest = run = 0
    for part in code.split("."):
        run = run + 1 if part.strip(_BETWEEN_NAMES).isidentifier() else 1
        longest = max(longest, run)
    return longest
