"""MLE-bench's prepared competitions: ``prepared/public`` and ``prepared/private``."""

from pathlib import Path
from typing import Final

from wmrl_envs.autoresearch.files import TABLE_SUFFIXES, suffix
from wmrl_envs.autoresearch.formats.layout import Layout, find_sample, only

__all__ = ["recognise"]

_ANSWERS: Final = ("test.csv", "answers.csv", "test_answer.csv", "test_orders.csv", "test.jsonl")
_NO_ANSWERS: Final = ("sample", "gold", "leaderboard")


def recognise(path: Path) -> Layout | None:
    """Finds the parts of a competition; None if the folder is no competition of MLE-bench.

    Args:
        path: ``<data_dir>/<name>`` or ``<data_dir>/<name>/prepared``.

    Raises:
        TaskFormatError: It is one, and a file is missing.
    """
    prepared = next(
        (p for p in (path / "prepared", path) if (p / "public/description.md").exists()), None
    )
    if prepared is None or not (prepared / "private").is_dir():
        return None
    public, private = prepared / "public", prepared / "private"
    folder = prepared.parent if prepared.name == "prepared" else prepared
    boards = (folder / "leaderboard.csv", private / "leaderboard.csv")
    return Layout(
        format="mle_bench",
        name=folder.name,
        public=public,
        description=public / "description.md",
        answers=_find_answers(private),
        sample=find_sample(public) or find_sample(private),
        boards=tuple(board for board in boards if board.is_file()),
    )


def _find_answers(private: Path) -> Path:
    """The names that its configurations use, else the only table that is no submission."""
    for name in _ANSWERS:
        if (private / name).is_file():
            return private / name
    tables = [path for path in private.iterdir() if suffix(path) in TABLE_SUFFIXES]
    named = [path for path in tables if not any(word in path.name.lower() for word in _NO_ANSWERS)]
    return only(named, private, "the answers")
