"""Where the parts of a task lie in another benchmark's folders."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wmrl_envs.autoresearch.files import TABLE_SUFFIXES, suffix
from wmrl_envs.errors import TaskFormatError

__all__ = ["Layout", "find_sample", "only", "require"]

_SAMPLE: Final = re.compile(r".*(sample|null|random).*|.*submission.*", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """The parts of a task.

    Attributes:
        format: ``mle_dojo``, ``mle_bench`` or ``dsbench``.
        name: The competition's name.
        public: The folder that programs may read; it is mounted, never copied.
        description: The task's text, for the prompt.
        answers: The true values.
        sample: A sample submission; one outside ``public`` gives its columns and is never shown.
        boards: Leaderboards.
        gap: Reference and baseline scores, which stand in for a leaderboard.
    """

    format: str
    name: str
    public: Path
    description: Path
    answers: Path
    sample: Path | None = None
    boards: tuple[Path, ...] = ()
    gap: tuple[float, float] | None = None

    @property
    def shown_sample(self) -> Path | None:
        """The sample submission, if programs may see it."""
        inside = self.sample is not None and self.sample.parent == self.public
        return self.sample if inside else None


def require(path: Path, what: str) -> Path:
    """The path, if it is a file.

    Raises:
        TaskFormatError: It is none.
    """
    if not path.is_file():
        raise TaskFormatError(f"{path}: the file is missing ({what})")
    return path


def find_sample(folder: Path) -> Path | None:
    """The sample submission of a folder, under whichever of its many names."""
    names = ("sample_submission.csv", "sampleSubmission.csv")
    exact = [folder / name for name in names if (folder / name).is_file()]
    return next(iter(exact or _samples(folder)), None)


def _samples(folder: Path) -> list[Path]:
    found = [path for path in folder.iterdir() if suffix(path) in TABLE_SUFFIXES]
    return sorted(path for path in found if _SAMPLE.fullmatch(path.name) and path.is_file())


def only(found: Iterable[Path], folder: Path, what: str) -> Path:
    """The only one of the paths.

    Raises:
        TaskFormatError: There is none, or there are several.
    """
    paths = sorted(found)
    if len(paths) != 1:
        raise TaskFormatError(
            f"{folder}: {what} must be one table, found {[path.name for path in paths]}"
        )
    return paths[0]
