"""A task: a folder with ``task.toml``, ``public/`` and ``private/``."""

import os
from functools import cached_property
from pathlib import Path
from typing import Any

from wmrl_envs.autoresearch.answers import AnswerKey, Half, load_answers
from wmrl_envs.autoresearch.files import TABLE_SUFFIXES
from wmrl_envs.autoresearch.grading import Grade, grade_submission
from wmrl_envs.autoresearch.inventory import build_card, build_overview
from wmrl_envs.autoresearch.leaderboard import Ranking, load_leaderboard
from wmrl_envs.autoresearch.spec import TaskSpec, load_spec
from wmrl_envs.errors import TaskFormatError

__all__ = ["Task"]


class Task:
    """One machine-learning task: public data, a submission contract, and a grader.

    The folder holds ``task.toml``; ``public/`` with ``description.md``, the data and
    ``sample_submission.csv``, which programs may read; and ``private/`` with ``answers.csv`` and
    ``leaderboard.csv`` (and a second board ``leaderboard_public.csv`` if there is one), which they
    must never see. ``train``, ``test`` and ``answers`` may also be ``.csv.gz``, ``.csv.zip``,
    ``.jsonl`` or ``.parquet``, the data also a ``.zip`` or a folder. A task is immutable: files are
    read when first needed and kept, and a copy of a task is the task itself.

    Attributes:
        folder: The task's folder.
        spec: What ``task.toml`` says.
        name: The task's name.
        split: ``train``, ``test`` or ``none``.
        modality: ``tabular``, ``text`` or ``image``.
        category: ``binary``, ``multiclass``, ``regression`` or ``other``.
        metric: The metric's name.
        time_limit: Wall seconds of one execution.
        id_column: The column that aligns a submission with the answers.
        target_columns: The columns of the answers beside the id.
        prediction_columns: The columns of a submission beside the id.
        public_dir: The folder that programs may read.
        private_dir: The folder that they must never read.

    Example:
        >>> from wmrl_envs.autoresearch import catalog
        >>> task = catalog.load("concrete")
        >>> print(task.card(), end="")
        tabular regression rmse
        rows 703 num 8 cat 0 missing no scale even
        outputs 1 kind value names target
        >>> sample = (task.public_dir / "sample_submission.csv").read_bytes()
        >>> task.grade(sample).status.value
        'valid'
    """

    def __init__(self, folder: Path, spec: TaskSpec) -> None:
        self.folder = folder
        self.spec = spec
        self.name = spec.name
        self.split = spec.split
        self.modality = spec.modality
        self.category = spec.category
        self.metric = spec.metric
        self.time_limit = spec.time_limit
        self.id_column = spec.id_column
        self.target_columns = spec.target_columns
        self.prediction_columns = spec.prediction_columns
        self.public_dir = folder / "public"
        self.private_dir = folder / "private"

    @classmethod
    def from_folder(cls, path: str | os.PathLike[str]) -> "Task":
        """Opens a task folder; reads ``task.toml`` alone, so that opening many is fast.

        Raises:
            TaskFormatError: ``task.toml`` is wrong or a required file is missing. Faults inside the
                other files are raised when the file is first used, or by :meth:`check`.
        """
        folder = Path(path).absolute()
        spec = load_spec(folder / "task.toml")
        for required in _required_files(folder, spec):
            if not required.exists():
                raise TaskFormatError(f"{required}: the file is missing")
        return cls(folder, spec)

    def overview(self) -> str:
        """Description, inventory of the data, submission contract: the prompt of a real model."""
        return self._overview

    def card(self) -> str:
        """Three lines that say what a small model needs to choose a program."""
        return self._card

    def grade(self, submission: bytes | None, half: Half = "score") -> Grade:
        """Grades the bytes of a submission; never raises for what the bytes hold.

        The answers are parted by a hash of the id: ``score`` gives the reward, ``feedback`` is what
        an agent may see between turns. The leaderboards of the bundled tasks hold scores on the
        ``score`` half; they serve all halves.

        Args:
            submission: The bytes of ``submission.csv``, or None when there is none.
            half: ``score``, ``feedback`` or ``all``.

        Returns:
            A grade with status ``no_submission``, ``invalid_submission`` or ``valid``.
        """
        return grade_submission(submission, self._answers, self._boards, half)

    def check(self) -> None:
        """Reads every file that grading and prompting need.

        Raises:
            TaskFormatError: A file breaks the format, or the sample submission is not valid.
        """
        self.overview()
        self.card()
        sample = self.public_dir / "sample_submission.csv"
        grade = self.grade(sample.read_bytes())
        if grade.score is None:
            raise TaskFormatError(f"{sample}: not valid: {grade.message}")

    @property
    def answers(self) -> AnswerKey:
        """The truth; for graders and scanners, never for policies."""
        return self._answers

    @property
    def boards(self) -> tuple[Ranking, ...]:
        """What gives a score its position; positions are averaged. The private board comes last."""
        return self._boards

    @cached_property
    def _overview(self) -> str:
        return build_overview(self.public_dir, self.spec)

    @cached_property
    def _card(self) -> str:
        return build_card(self.public_dir, self.spec)

    @property
    def mounts(self) -> dict[str, str]:
        """Host folder -> absolute place where programs see it, read-only."""
        return {str(self.public_dir): "/data"}

    @cached_property
    def _answers(self) -> AnswerKey:
        return load_answers(_find(self.private_dir, "answers"), self.spec)

    @cached_property
    def _boards(self) -> tuple[Ranking, ...]:
        higher = self.spec.measure.higher_is_better
        names = ("leaderboard_public.csv", "leaderboard.csv")
        paths = [self.private_dir / name for name in names]
        boards = [load_leaderboard(path, higher) for path in paths if path.is_file()]
        usable = tuple(board for board in boards if board is not None)
        if not usable:
            raise TaskFormatError(f"{paths[-1]}: the task has no leaderboard that is not constant")
        return usable

    def __reduce__(self) -> tuple[Any, ...]:
        return Task.from_folder, (str(self.folder),)

    def __copy__(self) -> "Task":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Task":
        return self

    def __repr__(self) -> str:
        return f"Task({self.name!r}, {self.modality} {self.category}, {self.metric})"


def _required_files(folder: Path, spec: TaskSpec) -> tuple[Path, ...]:
    public, private = folder / "public", folder / "private"
    first = ".npz" if spec.modality == "image" else ".csv"
    return (
        public / "description.md",
        public / "sample_submission.csv",
        _find(public, "train", first),
        _find(public, "test", first),
        _find(private, "answers"),
        private / "leaderboard.csv",
    )


def _find(folder: Path, name: str, first: str = ".csv") -> Path:
    """The file (or the folder) of this name, under the first suffix if it has none that is read."""
    suffixes = (first, *TABLE_SUFFIXES, ".zip", "")
    found = (folder / f"{name}{suffix}" for suffix in suffixes)
    return next((path for path in found if path.exists()), folder / f"{name}{first}")
