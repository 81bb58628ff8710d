"""A bundled task as pipelines see it: training rows with truth, test rows without."""

import gzip
import io
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from wmrl_envs.autoresearch.metrics import Metric, get_metric
from wmrl_envs.autoresearch.spec import TaskSpec, load_spec
from wmrl_envs.autoresearch.table import canonical

__all__ = ["Problem", "load_problem"]

Kind = Literal["tabular", "text", "image", "novelty"]


@dataclass(frozen=True)
class Problem:
    """What a pipeline may look at. The answers are no part of it.

    Attributes:
        spec: The task's description.
        train: N training rows: a data frame, a list of texts, or (N, height, width) uint8 images.
        target: (N,) class codes, (N,) or (N, targets) numbers, or None for unlabelled rows.
        test: M test rows, like ``train``.
        ids: M ids of the test rows.
        cache: Features that several pipelines share, by name.
    """

    spec: TaskSpec
    train: Any
    target: np.ndarray | None
    test: Any
    ids: tuple[str, ...]
    cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def metric(self) -> Metric:
        """The task's metric."""
        return get_metric(self.spec.metric)

    @property
    def kind(self) -> Kind:
        """What sort of pipelines suit the task."""
        if self.target is None:
            return "novelty"
        return self.spec.modality  # type: ignore[return-value]

    @property
    def classifies(self) -> bool:
        """True if the targets are classes."""
        return bool(self.spec.classes)

    @property
    def labels(self) -> np.ndarray:
        """The targets of the training rows."""
        if self.target is None:
            raise ValueError(f"task {self.spec.name!r} has no training labels")
        return self.target

    def part(self, fraction: float, seed: int = 0) -> "Problem":
        """The same task with a random part of the training rows (at least 30)."""
        n = len(self.labels)
        rows = np.random.default_rng(seed).permutation(n)[: max(30, int(n * fraction))]
        rows.sort()
        return replace(self, train=_take(self.train, rows), target=self.labels[rows], cache={})


def load_problem(source: Path) -> Problem:
    """Reads a bundled task's folder (``task.toml``, data files; not the answers)."""
    spec = load_spec(source / "task.toml")
    if spec.modality == "image":
        train, test = _images(source / "train.npz"), _images(source / "test.npz")
        labels = _table(source / "train_labels.csv.gz", text=True)
        return Problem(spec, train[1], _target(labels, spec), test[1], test[0])
    text = spec.modality == "text"
    rows, tests = _table(source / "train.csv.gz", text), _table(source / "test.csv.gz", text)
    target = _target(_table(source / "train.csv.gz", text=True), spec)
    ids = tuple(canonical(str(name)) for name in tests[spec.id_column])
    hidden = [spec.id_column, *spec.target_columns]
    train_x, test_x = rows.drop(columns=hidden), tests.drop(columns=spec.id_column)
    if text:
        return Problem(spec, list(train_x["text"]), target, list(test_x["text"]), ids)
    return Problem(spec, train_x, target, test_x, ids)


def _table(path: Path, text: bool) -> pd.DataFrame:
    """A gzipped CSV file; ``text`` keeps every cell as it is written. Empty if there is none."""
    if not path.is_file():
        return pd.DataFrame()
    data = io.BytesIO(gzip.decompress(path.read_bytes()))
    return pd.read_csv(data, dtype=str, keep_default_na=False) if text else pd.read_csv(data)


def _images(path: Path) -> tuple[tuple[str, ...], np.ndarray]:
    with np.load(path, allow_pickle=False) as arrays:
        return tuple(map(str, arrays["id"])), arrays["image"]


def _target(table: pd.DataFrame, spec: TaskSpec) -> np.ndarray | None:
    if table.empty:
        return None
    if spec.classes:
        codes = {canonical(label): code for code, label in enumerate(spec.classes)}
        return np.array([codes[canonical(cell)] for cell in table[spec.target_columns[0]]])
    values = table[list(spec.target_columns)].to_numpy(dtype=float)
    return values[:, 0] if values.shape[1] == 1 else values


def _take(rows: Any, index: np.ndarray) -> Any:
    if isinstance(rows, pd.DataFrame):
        return rows.iloc[index].reset_index(drop=True)
    return [rows[i] for i in index] if isinstance(rows, list) else rows[index]
