"""The texts between turns: what the agent is told, and what ``render`` shows."""

from collections.abc import Sequence

from wmrl_envs.autoresearch.outcome import Outcome
from wmrl_envs.autoresearch.rules import MAX_FEEDBACK

__all__ = ["feedback_text", "transcript"]


def feedback_text(outcome: Outcome, turn: int, max_turns: int, level: str) -> str:
    """Words what became of a turn, without a hint of the half of the answers that is scored.

    Args:
        outcome: What became of it.
        turn: The turn's number, from 1.
        max_turns: Turns of the episode.
        level: ``"full"``, ``"status"`` or ``"none"``.

    Returns:
        At most ``MAX_FEEDBACK`` characters; "" at the level ``"none"``.
    """
    if level == "none":
        return ""
    lines = [f"turn {turn} of {max_turns}: {_status(outcome)}"]
    if level == "full":
        lines += _details(outcome)
    return "\n".join(lines)[:MAX_FEEDBACK] + "\n"


def transcript(task: str, turns: Sequence[tuple[str, str]], ending: str) -> str:
    """Words an episode: the task, then every action with the feedback on it.

    Args:
        task: The task's text.
        turns: (action, feedback) pairs.
        ending: The last line.
    """
    parts = [task]
    for number, (action, feedback) in enumerate(turns, start=1):
        parts += [f"--- action {number} ---", action, f"--- feedback {number} ---", feedback]
    return "\n".join([*parts, ending])


def _status(outcome: Outcome) -> str:
    if outcome.grade is None:
        return f"not graded ({outcome.note})"
    return outcome.grade.status.value


def _details(outcome: Outcome) -> list[str]:
    grade = outcome.feedback_grade
    lines = [grade.message] if grade is not None and grade.message else []
    if grade is not None and grade.position is not None:
        lines.append(f"better than {grade.position:.1%} of the leaderboard")
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if text.strip():
            lines += [f"{name}, its end:", text.rstrip()]
    return lines
