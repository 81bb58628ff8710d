"""What lies in a public folder: tables, arrays, archives and images, described for a prompt."""

import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from wmrl_envs.autoresearch.files import suffix
from wmrl_envs.errors import TaskFormatError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "IMAGE_SUFFIXES",
    "Head",
    "compress",
    "describe_folder",
    "find_images",
    "find_table",
    "image_size",
    "read_arrays",
    "read_head",
    "walk",
]

IMAGE_SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
_FRAME_SUFFIXES: Final = (".csv", ".csv.gz", ".csv.zip", ".tsv", ".jsonl", ".parquet")
_WHOLE_BYTES: Final = 32 << 20
_HEAD_ROWS: Final = 20_000
_SINGLE_FILES: Final = 8
_SAMPLED: Final = 5
_SHORTEST_RUN: Final = 4
_SHOWN_COLUMNS: Final = 60
_SHOWN_KINDS: Final = 4


@dataclass(frozen=True)
class Head:
    """A table, or the beginning of a large one.

    Attributes:
        frame: The rows that were read.
        rows: The number of rows of the whole table, estimated if not ``exact``.
        exact: All rows were read or counted.
    """

    frame: "pd.DataFrame"
    rows: int
    exact: bool


def describe_folder(root: Path, skip: frozenset[str] = frozenset()) -> list[str]:
    """One line for each file, and one for each folder of many files.

    Args:
        root: The public folder.
        skip: Names of files of the folder itself that are left out.
    """
    lines: list[str] = []
    for folder, files in walk(root):
        shown = [path for path in files if folder != root or path.name not in skip]
        if folder != root and len(shown) > _SINGLE_FILES:
            lines.append(_describe_many(folder, shown, root))
        else:
            lines += [_describe(path, root) for path in shown]
    return lines


def find_table(folder: Path, name: str) -> Path | None:
    """The table of this name, whatever its suffix; a longer name that holds it will do too."""
    tables = sorted(p for p in folder.iterdir() if suffix(p) in _FRAME_SUFFIXES and p.is_file())
    exact = [path for path in tables if path.name.lower().partition(".")[0] == name]
    similar = [path for path in tables if name in path.name.lower()]
    return next(iter(exact + similar), None)


def find_images(folder: Path) -> list[Path]:
    """All images below a folder, sorted."""
    found = (path for _, files in walk(folder) for path in files)
    return [path for path in found if path.suffix.lower() in IMAGE_SUFFIXES]


def image_size(path: Path) -> tuple[int, int, str] | None:
    """Width and height in pixels, and Pillow's name of the mode; None if it cannot be read."""
    try:
        from PIL import Image

        with Image.open(path) as image:
            return image.width, image.height, image.mode
    except (ImportError, OSError, ValueError):
        return None


def read_head(path: Path, rows: int | None = None) -> Head:
    """Reads a table; of one over 32 MB only the first 20,000 rows.

    Args:
        path: The file.
        rows: Read no more than this many.

    Raises:
        TaskFormatError: The file is unreadable.
    """
    try:
        if suffix(path) == ".parquet":
            return _read_parquet(path, rows)
        return _read_text(path, rows)
    except (OSError, ValueError, ImportError, zipfile.BadZipFile) as error:
        raise TaskFormatError(f"{path}: {error}") from None


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file.

    Raises:
        TaskFormatError: The file is unreadable.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError) as error:
        raise TaskFormatError(f"{path}: {error}") from None


def _read_parquet(path: Path, limit: int | None) -> Head:
    import pandas as pd
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        rows = file.metadata.num_rows
        if limit is None and path.stat().st_size <= _WHOLE_BYTES:
            return Head(pd.read_parquet(path), rows, True)
        batch = next(file.iter_batches(limit or _HEAD_ROWS))
        return Head(batch.to_pandas(), rows, True)


def _read_text(path: Path, limit: int | None) -> Head:
    import pandas as pd

    size, kind = path.stat().st_size, suffix(path)
    limit = limit or (None if size <= _WHOLE_BYTES else _HEAD_ROWS)
    if kind == ".jsonl":
        frame = pd.read_json(path, lines=True, nrows=limit)
    else:
        frame = pd.read_csv(path, sep="\t" if kind == ".tsv" else ",", nrows=limit)
    if limit is None or len(frame) < limit or kind.endswith((".gz", ".zip")):
        return Head(frame, len(frame), limit is None or len(frame) < limit)
    return Head(frame, _estimate_rows(path, size), False)


def _estimate_rows(path: Path, size: int) -> int:
    with path.open("rb") as file:
        head = file.read(1 << 20)
    return round(size * head.count(b"\n") / len(head))


def walk(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Every folder with its files, both sorted; links to folders are followed but not in rings."""
    seen: set[Path] = set()
    for folder, folders, files in os.walk(root, followlinks=True):
        real = Path(folder).resolve()
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield Path(folder), [Path(folder, name) for name in sorted(files)]


def _describe_many(folder: Path, files: Sequence[Path], root: Path) -> str:
    kinds = Counter(path.suffix.lower() or "no suffix" for path in files).most_common()
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds[:_SHOWN_KINDS])
    line = f"- `{folder.relative_to(root).as_posix()}/`: {len(files)} files ({shown}), such as "
    line += f"`{files[0].name}`"
    images = [path for path in files if path.suffix.lower() in IMAGE_SUFFIXES]
    return line + _describe_sizes(images) if images else line


def _describe_sizes(images: Sequence[Path]) -> str:
    step = max(len(images) // _SAMPLED, 1)
    sizes = [image_size(path) for path in images[::step][:_SAMPLED]]
    known = Counter(f"{size[0]} x {size[1]} {size[2]}" for size in sizes if size is not None)
    if not known:
        return ""
    shown = ", ".join(f"{size} ({count})" for size, count in known.most_common())
    return f"; image sizes in pixels of {sum(known.values())} sampled: {shown}"


def _describe(path: Path, root: Path) -> str:
    name = path.relative_to(root).as_posix()
    if not path.exists():
        return f"- `{name}`: a link that leads nowhere"
    return f"- `{name}`: {_content(path)}"


def _content(path: Path) -> str:
    kind = suffix(path)
    if kind in _FRAME_SUFFIXES:
        return _describe_table(path)
    if kind == ".npz":
        shapes = [f"{key} {a.shape} {a.dtype}" for key, a in read_arrays(path).items()]
        return f"arrays {', '.join(shapes)}"
    if kind == ".zip":
        return _describe_archive(path)
    size = image_size(path) if kind in IMAGE_SUFFIXES else None
    if size is not None:
        return f"image of {size[0]} x {size[1]} pixels, {size[2]}"
    return f"{path.stat().st_size} bytes"


def _describe_table(path: Path) -> str:
    head = read_head(path)
    columns = compress([f"{name} {_type(head.frame[name])}" for name in head.frame.columns])
    if len(columns) > _SHOWN_COLUMNS:
        columns = [*columns[:_SHOWN_COLUMNS], "…", columns[-1]]
    rows = f"{head.rows} rows" if head.exact else f"about {head.rows} rows"
    return f"{rows} x {head.frame.shape[1]} columns: {', '.join(columns)}"


def _describe_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
    except (OSError, zipfile.BadZipFile):
        return f"{path.stat().st_size} bytes, a broken zip archive"
    kinds = Counter(Path(name).suffix.lower() or "no suffix" for name in names).most_common()
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds[:_SHOWN_KINDS])
    example = f", such as `{names[0]}`" if names else ""
    return f"zip archive of {len(names)} files ({shown}){example}"


def _type(column: "pd.Series") -> str:
    kind = {"i": "integer", "u": "integer", "f": "number", "b": "boolean"}
    name = kind.get(column.dtype.kind)
    if name is None:
        return f"text ({_different(column)}such as {_example(column)})"
    missing = int(column.isna().sum())
    return f"{name} ({missing} missing)" if missing else name


def _different(column: "pd.Series") -> str:
    """Lists and objects of JSON cannot be counted."""
    try:
        return f"{column.nunique()} different, "
    except TypeError:
        return ""


def _example(column: "pd.Series") -> str:
    present = column.dropna()
    return repr(str(present.iloc[0])[:40]) if len(present) else "nothing"


def compress(columns: Sequence[str]) -> list[str]:
    """Writes runs of numbered columns of the same type as one entry.

    Example:
        >>> compress(["id integer", *(f"x_{i} number" for i in range(5))])
        ['id integer', 'x_0 … x_4 number (5 columns)']
    """
    runs: list[list[str]] = []
    for column in columns:
        if runs and _follows(runs[-1][-1], column):
            runs[-1].append(column)
        else:
            runs.append([column])
    return [entry for run in runs for entry in _shorten_run(run)]


def _shorten_run(run: list[str]) -> list[str]:
    if len(run) < _SHORTEST_RUN:
        return run
    first = run[0].partition(" ")[0]
    return [f"{first} … {run[-1]} ({len(run)} columns)"]


def _follows(before: str, after: str) -> bool:
    pattern = r"(\D*)(\d+) (integer|number)"
    old, new = re.fullmatch(pattern, before), re.fullmatch(pattern, after)
    if old is None or new is None:
        return False
    return old[1] == new[1] and old[3] == new[3] and int(new[2]) == int(old[2]) + 1
