"""What a model is told about a task: the overview for real models, the card for small ones."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from wmrl_envs.autoresearch.metrics import get_metric
from wmrl_envs.autoresearch.spec import TaskSpec
from wmrl_envs.errors import TaskFormatError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Features", "build_card", "build_overview", "compress", "read_features"]

_MIXED_SCALE: Final = 20.0
_SHORTEST_RUN: Final = 4
_SAMPLE_LINES: Final = 4
_SHOWN_COLUMNS: Final = 12


@dataclass(frozen=True)
class Features:
    """What the card says of the training features.

    Attributes:
        rows: Training rows.
        numeric: Numeric feature columns (pixels of an image).
        strings: Text feature columns.
        missing: Some training feature is missing.
        mixed: The largest standard deviation of a numeric feature is over 20 times the smallest.
    """

    rows: int
    numeric: int
    strings: int
    missing: bool
    mixed: bool


def build_card(public_dir: Path, spec: TaskSpec) -> str:
    """Three lines: the kind of task, its training features, its outputs."""
    features = read_features(public_dir, spec)
    columns = spec.prediction_columns
    names = columns[0] if len(columns) == 1 else f"{columns[0]}..{columns[-1]}"
    return (
        f"{spec.modality} {spec.category} {spec.metric}\n"
        f"rows {features.rows} num {features.numeric} cat {features.strings} "
        f"missing {'yes' if features.missing else 'no'} "
        f"scale {'mixed' if features.mixed else 'even'}\n"
        f"outputs {len(columns)} kind {get_metric(spec.metric).kind} names {names}\n"
    )


def build_overview(public_dir: Path, spec: TaskSpec) -> str:
    """Description, inventory of the files, submission contract."""
    description = (public_dir / "description.md").read_text(encoding="utf-8").strip()
    files = sorted(path for path in public_dir.rglob("*") if path.is_file())
    inventory = [_describe(path, public_dir) for path in files if path.name != "description.md"]
    return (
        f"{description}\n\n## Data inventory\n\n" + "\n".join(inventory) + "\n\n"
        f"## Submission contract\n\n{_contract(public_dir, spec)}\n"
    )


def read_features(public_dir: Path, spec: TaskSpec) -> Features:
    """Measures the training features.

    Raises:
        TaskFormatError: The training file is unreadable.
    """
    if spec.modality == "image":
        images = _read_arrays(public_dir / "train.npz")["image"]
        return Features(len(images), int(np.prod(images.shape[1:])), 0, False, False)
    table = _read_csv(public_dir / "train.csv")
    features = table.drop(columns=[spec.id_column, *spec.target_columns], errors="ignore")
    numeric = features.select_dtypes("number")
    missing = bool(features.isna().any(axis=None))
    strings = features.shape[1] - numeric.shape[1]
    return Features(len(table), numeric.shape[1], strings, missing, _is_mixed(numeric))


def _is_mixed(numeric: "pd.DataFrame") -> bool:
    spread = numeric.std().to_numpy(dtype=float)
    spread = spread[spread > 0]
    return len(spread) > 0 and bool(spread.max() / spread.min() > _MIXED_SCALE)


def _read_csv(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise TaskFormatError(f"{path}: {error}") from None


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError) as error:
        raise TaskFormatError(f"{path}: {error}") from None


def _describe(path: Path, root: Path) -> str:
    name = path.relative_to(root).as_posix()
    if path.suffix == ".csv":
        table = _read_csv(path)
        columns = compress([f"{column} {_type(table[column])}" for column in table.columns])
        return f"- `{name}`: {len(table)} rows x {table.shape[1]} columns: {', '.join(columns)}"
    if path.suffix == ".npz":
        arrays = _read_arrays(path)
        shapes = [f"{key} {values.shape} {values.dtype}" for key, values in arrays.items()]
        return f"- `{name}`: arrays {', '.join(shapes)}"
    return f"- `{name}`: {path.stat().st_size} bytes"


def _type(column: "pd.Series") -> str:
    kind = {"i": "integer", "u": "integer", "f": "number", "b": "boolean"}
    name = kind.get(column.dtype.kind)
    if name is None:
        return f"text ({column.nunique()} different, such as {_example(column)})"
    missing = int(column.isna().sum())
    return f"{name} ({missing} missing)" if missing else name


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


def _contract(public_dir: Path, spec: TaskSpec) -> str:
    metric = get_metric(spec.metric)
    columns = [spec.id_column, *spec.prediction_columns]
    shown = columns if len(columns) <= _SHOWN_COLUMNS else [*columns[:3], "…", columns[-1]]
    direction = "higher" if metric.higher_is_better else "lower"
    with (public_dir / "sample_submission.csv").open(encoding="utf-8") as file:
        head = "".join(line for line, _ in zip(file, range(_SAMPLE_LINES), strict=False))
    return (
        f"Write `submission.csv` into the working directory within {spec.time_limit:g} seconds. "
        f"Columns: {', '.join(shown)}. One row for each {spec.id_column} of the test set, no other "
        f"and none twice; the order is free. {_values(spec)} "
        f"Metric: {spec.metric}, {direction} is better.\n\n"
        f"`sample_submission.csv` begins:\n\n```\n{head}```"
    )


def _values(spec: TaskSpec) -> str:
    metric = get_metric(spec.metric)
    if metric.kind == "label":
        return f"Values are labels: {', '.join(spec.classes)}."
    if metric.unit_interval:
        return "Values are probabilities from 0 to 1."
    return "Values are finite numbers."
