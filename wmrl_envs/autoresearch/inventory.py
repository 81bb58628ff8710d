"""What a model is told about a task: the overview for real models, the card for small ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from wmrl_envs.autoresearch.files import read_bytes
from wmrl_envs.autoresearch.spec import TaskSpec
from wmrl_envs.autoresearch.survey import (
    describe_folder,
    find_images,
    find_table,
    image_size,
    read_arrays,
    read_head,
)
from wmrl_envs.errors import TaskFormatError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Features", "build_card", "build_overview", "read_features"]

_MIXED_SCALE: Final = 20.0
_SAMPLE_LINES: Final = 4
_SAMPLE_LINE: Final = 500
_SHOWN: Final = 12


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
        f"outputs {len(columns)} kind {spec.measure.kind} names {names}\n"
    )


def build_overview(
    public_dir: Path,
    spec: TaskSpec,
    description: Path | None = None,
    sample: Path | None = None,
) -> str:
    """Description, inventory of the files, submission contract.

    Args:
        public_dir: The folder that programs may read.
        spec: The task's description.
        description: The text; ``description.md`` of the folder by default.
        sample: A sample submission that may be shown; ``sample_submission.csv`` of the folder by
            default, if there is one.
    """
    description = public_dir / "description.md" if description is None else description
    text = _read_text(description).strip()
    inventory = describe_folder(public_dir, frozenset({description.name}))
    sample = public_dir / "sample_submission.csv" if sample is None else sample
    return (
        f"{text}\n\n## Data inventory\n\n" + "\n".join(inventory) + "\n\n"
        f"## Submission contract\n\n{_contract(spec, sample)}\n"
    )


def read_features(public_dir: Path, spec: TaskSpec) -> Features:
    """Measures the training features; of a task without a training table, its images.

    Raises:
        TaskFormatError: The training file is unreadable.
    """
    if spec.modality == "image":
        return _image_features(public_dir)
    path = find_table(public_dir, "train")
    if path is None:
        return Features(0, 0, 0, False, False)
    head = read_head(path)
    hidden = [spec.id_column, *spec.target_columns, *spec.prediction_columns]
    features = head.frame.drop(columns=hidden, errors="ignore")
    numeric = features.select_dtypes("number")
    missing = bool(features.isna().any(axis=None))
    strings = features.shape[1] - numeric.shape[1]
    return Features(head.rows, numeric.shape[1], strings, missing, _is_mixed(numeric))


def _image_features(public_dir: Path) -> Features:
    arrays = public_dir / "train.npz"
    if arrays.is_file():
        images = read_arrays(arrays)["image"]
        return Features(len(images), int(np.prod(images.shape[1:])), 0, False, False)
    found = find_images(public_dir)
    train = [path for path in found if "train" in path.relative_to(public_dir).as_posix().lower()]
    shown = train or found
    width, height, _ = (image_size(shown[0]) if shown else None) or (0, 0, "")
    return Features(len(shown), width * height, 0, False, False)


def _is_mixed(numeric: "pd.DataFrame") -> bool:
    spread = numeric.std().to_numpy(dtype=float)
    spread = spread[spread > 0]
    return len(spread) > 0 and bool(spread.max() / spread.min() > _MIXED_SCALE)


def _read_text(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig", "replace")
    except OSError as error:
        raise TaskFormatError(f"{path}: {error}") from None


def _contract(spec: TaskSpec, sample: Path) -> str:
    direction = "higher" if spec.measure.higher_is_better else "lower"
    columns = _some([spec.id_column, *spec.prediction_columns])
    text = (
        f"Write `submission.csv` into the working directory within {spec.time_limit:g} seconds. "
        f"Columns: {columns}. One row for each {spec.id_column} of the test set, no other "
        f"and none twice; the order is free. {_values(spec)} "
        f"Metric: {spec.metric}, {direction} is better."
    )
    if not sample.is_file():
        return text
    return f"{text}\n\n`{sample.name}` begins:\n\n```\n{_begin(sample)}```"


def _begin(sample: Path) -> str:
    with sample.open(encoding="utf-8-sig", errors="replace") as file:
        lines = [line for line, _ in zip(file, range(_SAMPLE_LINES), strict=False)]
    return "".join(
        line if len(line) <= _SAMPLE_LINE else f"{line[:_SAMPLE_LINE]}…\n" for line in lines
    )


def _some(names: Sequence[str]) -> str:
    shown = names if len(names) <= _SHOWN else [*names[:3], "…", names[-1]]
    return ", ".join(shown)


def _values(spec: TaskSpec) -> str:
    kind = spec.measure.kind
    if kind == "label" and not spec.classes:
        return "Values are labels like those of the training data."
    if kind == "label" and len(spec.classes) > _SHOWN:
        return f"Values are labels, such as {_some(spec.classes)}."
    if kind == "label":
        return f"Values are labels: {', '.join(spec.classes)}."
    if spec.measure.unit_interval:
        return "Values are probabilities from 0 to 1."
    return "Values are texts." if kind == "text" else "Values are finite numbers."
