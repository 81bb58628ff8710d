"""From an execution to a grade: what became of one turn of an episode."""

from dataclasses import dataclass, replace

from wmrl_envs.autoresearch.execution_cache import REPEATABLE
from wmrl_envs.autoresearch.grading import Grade, GradeStatus
from wmrl_envs.autoresearch.sandbox import Execution
from wmrl_envs.autoresearch.task import Task

__all__ = ["Outcome", "Submission", "grade_execution"]

_TAIL = 2_000
_FAILURES = {
    "error": (GradeStatus.RUNTIME_ERROR, "the program failed"),
    "killed": (GradeStatus.RUNTIME_ERROR, "the program was killed"),
    "output": (GradeStatus.RUNTIME_ERROR, "the program wrote too much output"),
    "timeout": (GradeStatus.TIMEOUT, "the program ran out of wall time"),
    "cpu": (GradeStatus.TIMEOUT, "the program ran out of CPU time"),
    "memory": (GradeStatus.MEMORY, "the program ran out of memory"),
}


@dataclass(frozen=True)
class Submission:
    """One program that wants to be executed.

    Attributes:
        task: The task that it answers.
        code: Python source that compiles.
    """

    task: Task
    code: str


@dataclass(frozen=True)
class Outcome:
    """What became of one turn.

    Attributes:
        grade: The grade on the score half of the answers; None where the turn was not graded.
        feedback_grade: What the agent may see of it: the grade on the feedback half where the
            submission is valid (None where nobody asked for it), else the grade itself.
        note: Why the turn was not graded; "" where it was.
        stdout: The end of what the program printed.
        stderr: The end of its error stream, the exception's line included.
        cpu_s: CPU seconds of the execution.
        wall_s: Wall seconds of the execution.
        repeatable: The same program would have the same outcome again.
    """

    grade: Grade | None
    feedback_grade: Grade | None = None
    note: str = ""
    stdout: str = ""
    stderr: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    repeatable: bool = True

    @classmethod
    def unexecuted(cls, status: GradeStatus, message: str) -> "Outcome":
        """The outcome of an action whose status shows without an execution."""
        grade = Grade(status, message=message)
        return cls(grade=grade, feedback_grade=grade)

    @classmethod
    def ungraded(cls, note: str) -> "Outcome":
        """The outcome of an action that nobody graded."""
        return cls(grade=None, note=note, repeatable=False)


def grade_execution(task: Task, execution: Execution, feedback: bool = True) -> Outcome:
    """Grades what one execution left behind.

    Args:
        task: The task that the program answers.
        execution: What the sandbox reports.
        feedback: Grade a valid submission on the feedback half too.
    """
    grade = _grade(task, execution)
    shown: Grade | None = grade
    if grade.status is GradeStatus.VALID:
        shown = task.grade(execution.artifact, "feedback") if feedback else None
    return Outcome(
        grade=grade,
        feedback_grade=shown,
        stdout=execution.stdout[-_TAIL:],
        stderr=execution.stderr[-_TAIL:],
        cpu_s=execution.cpu_s,
        wall_s=execution.wall_s,
        repeatable=execution.status in REPEATABLE,
    )


def _grade(task: Task, execution: Execution) -> Grade:
    if execution.status != "ok":
        status, message = _FAILURES[execution.status]
        return Grade(status, message=message)
    grade = task.grade(execution.artifact, "score")
    if execution.artifact is None and execution.artifact_error:
        return replace(grade, message=execution.artifact_error)
    return grade
