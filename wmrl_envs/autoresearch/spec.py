"""What ``task.toml`` says about a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wmrl_envs.autoresearch.metrics import METRICS, Metric, get_metric
from wmrl_envs.autoresearch.table import canonical
from wmrl_envs.autoresearch.toml import read_toml
from wmrl_envs.errors import TaskFormatError

__all__ = ["CATEGORIES", "MODALITIES", "SPLITS", "TaskSpec", "load_spec"]

SPLITS: Final = ("train", "test", "none")
MODALITIES: Final = ("tabular", "text", "image")
CATEGORIES: Final = ("binary", "multiclass", "regression", "other")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "split": SPLITS,
    "modality": MODALITIES,
    "category": CATEGORIES,
    "metric": tuple(METRICS),
}


@dataclass(frozen=True)
class TaskSpec:
    """The keys of ``task.toml`` (those with a default may be left out), and what others need.

    Attributes:
        name: The task's name.
        split: ``train``, ``test`` or ``none``.
        modality: ``tabular``, ``text`` or ``image``.
        category: ``binary``, ``multiclass``, ``regression`` or ``other``.
        metric: A name of the metric registry, or that of ``own_metric``.
        time_limit: Wall seconds of one execution.
        id_column: The column that aligns a submission with the answers.
        target_columns: The columns of the answers beside the id.
        classes: The labels in the order of their codes (ordinal labels ascending, for binary tasks
            the positive label last); empty for metrics of values and texts.
        licence: The licence of the data.
        source: Where the data come from.
        extra_column: The column of the answers that holds the rows' weights or groups.
        submission_columns: The columns of a submission beside the id, where they are neither the
            targets nor the classes.
        open_labels: A predicted label that is no class counts as wrong instead of as invalid.
        weights: Cell of ``extra_column`` -> weight, where the cells are no numbers.
        keep: Column and cell of the rows that count; empty if all do.
        whole: Every half is all of the answers.
        own_metric: A metric that the registry does not hold.
    """

    name: str
    split: str
    modality: str
    category: str
    metric: str
    time_limit: float
    id_column: str
    target_columns: tuple[str, ...]
    classes: tuple[str, ...] = ()
    licence: str = ""
    source: str = ""
    extra_column: str = ""
    submission_columns: tuple[str, ...] = ()
    open_labels: bool = False
    weights: tuple[tuple[str, float], ...] = ()
    keep: tuple[str, str] | None = None
    whole: bool = False
    own_metric: Metric | None = None

    @property
    def measure(self) -> Metric:
        """The metric itself."""
        return get_metric(self.metric) if self.own_metric is None else self.own_metric

    @property
    def prediction_columns(self) -> tuple[str, ...]:
        """The columns of a submission beside the id: the targets, or one for each class."""
        per_class = self.classes if self.measure.columns == "class" else self.target_columns
        return self.submission_columns or per_class

    @property
    def has_codes(self) -> bool:
        """Is the truth one class a row?"""
        measure = self.measure
        single = len(self.target_columns) == 1
        return (
            measure.kind == "label" or measure.columns == "class" or (measure.is_binary and single)
        )


def load_spec(path: Path) -> TaskSpec:
    """Reads and checks a ``task.toml``.

    Raises:
        TaskFormatError: The file is missing or no TOML, or a key is missing or has a wrong value.
    """
    keys = read_toml(path)
    try:
        return _parse(keys)
    except ValueError as error:
        raise TaskFormatError(f"{path}: {error}") from None


def _parse(keys: Mapping[str, Any]) -> TaskSpec:
    spec = TaskSpec(
        name=_text(keys, "name"),
        split=_choice(keys, "split"),
        modality=_choice(keys, "modality"),
        category=_choice(keys, "category"),
        metric=_choice(keys, "metric"),
        time_limit=_seconds(keys, "time_limit"),
        id_column=_text(keys, "id_column"),
        target_columns=_names(keys, "target_columns"),
        classes=_names(keys, "classes") if "classes" in keys else (),
        licence=_text(keys, "licence") if "licence" in keys else "",
        source=_text(keys, "source") if "source" in keys else "",
        extra_column=_text(keys, "extra_column") if "extra_column" in keys else "",
    )
    _check_classes(spec)
    _check_columns(spec)
    return spec


def _text(keys: Mapping[str, Any], key: str) -> str:
    value = keys.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"key {key!r} must be a text that is not empty, got {value!r}")
    return value


def _choice(keys: Mapping[str, Any], key: str) -> str:
    value = keys.get(key)
    if value not in _CHOICES[key]:
        raise ValueError(f"key {key!r} must be one of {', '.join(_CHOICES[key])}, got {value!r}")
    return str(value)


def _seconds(keys: Mapping[str, Any], key: str) -> float:
    value = keys.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise ValueError(f"key {key!r} must be a positive number of seconds, got {value!r}")
    return float(value)


def _names(keys: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = keys.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise ValueError(f"key {key!r} must be a list of texts that is not empty, got {value!r}")
    if len(set(map(canonical, value))) < len(value):
        raise ValueError(f"key {key!r} must not repeat an entry, got {value!r}")
    return tuple(value)


def _check_classes(spec: TaskSpec) -> None:
    if not spec.has_codes:
        if spec.classes:
            raise ValueError(f"key 'classes' has no meaning for metric {spec.metric!r}")
        return
    binary = spec.measure.is_binary
    if len(spec.classes) < 2 or (binary and len(spec.classes) != 2):
        wanted = "two" if binary else "at least two"
        raise ValueError(
            f"key 'classes' must list {wanted} labels for metric {spec.metric!r}, "
            f"got {list(spec.classes)}"
        )


def _check_columns(spec: TaskSpec) -> None:
    if spec.id_column in (*spec.target_columns, *spec.prediction_columns):
        raise ValueError(f"id_column {spec.id_column!r} must not be a target too")
    single = spec.has_codes or spec.measure.kind == "text"
    if len(spec.target_columns) > 1 and single:
        raise ValueError(
            f"metric {spec.metric!r} takes one target, got {list(spec.target_columns)}"
        )
    if spec.measure.extra in ("weight", "group") and not spec.extra_column:
        raise ValueError(f"metric {spec.metric!r} needs the key 'extra_column', got none")
