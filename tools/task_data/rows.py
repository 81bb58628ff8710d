"""From a recipe's raw rows to the frozen files of a task.

A recipe returns raw train and test rows; here they are shuffled with a fixed seed, numbered anew
(most sources are sorted, so that an id would tell the label) and written.
"""

import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

__all__ = ["SEED", "Recipe", "Rows", "contents", "differences", "divide", "take", "write_rows"]

SEED: Final = 20240815


@dataclass(frozen=True)
class Rows:
    """The raw rows of a task.

    Attributes:
        train: A data frame, a list of texts, or (N, height, width) uint8 images.
        target: N rows of targets; None for unlabelled training rows.
        test: M rows, like ``train``.
        answers: M rows of targets.
    """

    train: Any
    target: np.ndarray | None
    test: Any
    answers: np.ndarray

    def shuffled(self) -> "Rows":
        """Train and test, each in a random order drawn with the fixed seed."""
        generator = np.random.default_rng(SEED)
        train = generator.permutation(len(self.train))
        test = generator.permutation(len(self.test))
        target = None if self.target is None else self.target[train]
        return Rows(take(self.train, train), target, take(self.test, test), self.answers[test])


def divide(rows: Any, target: np.ndarray, *, stratified: bool) -> Rows:
    """Seventy percent for training, drawn with the fixed seed."""
    train, test = train_test_split(
        np.arange(len(target)), test_size=0.3, random_state=SEED,
        stratify=target if stratified else None,
    )  # fmt: skip
    train.sort()
    test.sort()
    return Rows(take(rows, train), target[train], take(rows, test), target[test])


def take(rows: Any, index: Sequence[int] | np.ndarray) -> Any:
    """The chosen rows of a data frame, a list or an array."""
    if isinstance(rows, pd.DataFrame):
        return rows.iloc[index].reset_index(drop=True)
    return [rows[i] for i in index] if isinstance(rows, list) else rows[index]


def contents(raw: Rows) -> dict[str, Any]:
    """File name -> text of a CSV file, or the arrays of an archive."""
    rows = raw.shuffled()
    count = len(rows.train)
    ids = {"train": np.arange(count), "test": np.arange(count, count + len(rows.test))}
    files: dict[str, Any] = {"answers.csv.gz": _csv(_targets(rows.answers), ids["test"])}
    if isinstance(rows.train, np.ndarray):
        for part, images in (("train", rows.train), ("test", rows.test)):
            files[f"{part}.npz"] = {"id": ids[part].astype(np.int32), "image": images}
        if rows.target is not None:
            files["train_labels.csv.gz"] = _csv(_targets(rows.target), ids["train"])
        return files
    train = pd.concat([_frame(rows.train), _targets(rows.target)], axis=1)
    files["train.csv.gz"] = _csv(train, ids["train"])
    files["test.csv.gz"] = _csv(_frame(rows.test), ids["test"])
    return files


def write_rows(raw: Rows, folder: Path) -> None:
    """Writes the frozen files; the same rows give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents(raw).items():
        if isinstance(content, str):
            data = gzip.compress(content.encode(), compresslevel=9, mtime=0)
            (folder / name).write_bytes(data)
        else:
            np.savez_compressed(folder / name, **content)


def differences(raw: Rows, folder: Path) -> list[str]:
    """The names of the frozen files that hold something else than the recipe's rows."""
    return [name for name, content in contents(raw).items() if not _same(content, folder / name)]


def _same(content: Any, path: Path) -> bool:
    if not path.is_file():
        return False
    if isinstance(content, str):
        return gzip.decompress(path.read_bytes()).decode() == content
    with np.load(path, allow_pickle=False) as arrays:
        return all(np.array_equal(arrays[key], values) for key, values in content.items())


def _frame(rows: Any) -> pd.DataFrame:
    return rows if isinstance(rows, pd.DataFrame) else pd.DataFrame({"text": rows})


def _targets(values: np.ndarray | None) -> pd.DataFrame:
    if values is None:
        return pd.DataFrame()
    if values.ndim == 1:
        return pd.DataFrame({"target": values})
    return pd.DataFrame({f"target_{k}": column for k, column in enumerate(values.T)})


def _csv(table: pd.DataFrame, ids: np.ndarray) -> str:
    table = table.copy()
    table.insert(0, "id", ids)
    text = io.StringIO(newline="")
    table.to_csv(text, index=False, float_format="%.7g", lineterminator="\n")
    return text.getvalue()


Recipe = Callable[[], Rows]
