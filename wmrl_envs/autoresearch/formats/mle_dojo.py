"""MLE-Dojo's prepared competitions: ``data/public``, ``data/private``, boards of ``rank,score``."""

from pathlib import Path

from wmrl_envs.autoresearch.formats.layout import Layout, find_sample, require

__all__ = ["recognise"]

_BOARDS = ("public_leaderboard.csv", "private_leaderboard.csv")
_FROM_MLE_BENCH = "mleb__"


def recognise(path: Path) -> Layout | None:
    """Finds the parts of a competition; None if the folder is no competition of MLE-Dojo.

    Args:
        path: ``<root>/<name>`` or ``<root>/<name>/data``.

    Raises:
        TaskFormatError: It is one, and a file is missing.
    """
    data = next((p for p in (path / "data", path) if (p / "public/description.txt").exists()), None)
    if data is None:
        return None
    public, private = data / "public", data / "private"
    folder = data.parent if data.name == "data" else data
    return Layout(
        format="mle_dojo",
        name=folder.name.removeprefix(_FROM_MLE_BENCH),
        public=public,
        description=public / "description.txt",
        answers=require(private / "test_answer.csv", "the answers"),
        sample=find_sample(public),
        boards=tuple(private / name for name in _BOARDS if (private / name).is_file()),
    )
