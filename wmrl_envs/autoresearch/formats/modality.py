"""Is a task about tables, texts or images? Its public files tell."""

import zipfile
from itertools import islice
from pathlib import Path
from typing import Final

from wmrl_envs.autoresearch.survey import IMAGE_SUFFIXES, find_table, read_head, walk

__all__ = ["find_modality"]

_LONG_TEXT: Final = 40.0
_LOOKED_AT: Final = 500
_SCANNED: Final = 20_000


def find_modality(public: Path) -> str:
    """``image`` if there are images, ``text`` if a training column holds long texts on average.

    Args:
        public: The public folder.
    """
    files = (path for _, listed in walk(public) for path in listed)
    if any(map(_holds_images, islice(files, _SCANNED))):
        return "image"
    train = find_table(public, "train")
    return "text" if train is not None and _holds_texts(train) else "tabular"


def _holds_images(path: Path) -> bool:
    if path.suffix.lower() != ".zip":
        return path.suffix.lower() in IMAGE_SUFFIXES
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.lower().endswith(IMAGE_SUFFIXES) for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def _holds_texts(train: Path) -> bool:
    frame = read_head(train, rows=_LOOKED_AT).frame
    columns = [frame[name].dropna() for name in frame.select_dtypes(exclude="number").columns]
    return any(
        sum(len(str(cell)) for cell in cells) > _LONG_TEXT * len(cells)
        for cells in columns
        if len(cells)
    )
