"""From the columns of a sample submission and of the answers to what a submission must hold."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from wmrl_envs.autoresearch.answers import order_labels
from wmrl_envs.autoresearch.metrics import Metric
from wmrl_envs.autoresearch.table import Table, TableError, canonical, shorten

__all__ = ["Columns", "match_classes", "match_columns"]

_LISTED = 5


@dataclass(frozen=True)
class Columns:
    """How a submission's columns go with those of the answers.

    Attributes:
        id: The id's column, in both.
        targets: Columns of the answers.
        predictions: Columns of a submission.
        classes: For one column a class and one target: the class of each column.
    """

    id: str
    targets: tuple[str, ...]
    predictions: tuple[str, ...]
    classes: tuple[str, ...] = ()


def match_columns(
    answers: Table, sample: Sequence[str] | None, metric: Metric, aside: Sequence[str] = ()
) -> Columns:
    """Matches the columns; the first one of the sample submission is the id.

    Args:
        answers: The answers.
        sample: The header of the sample submission; None if there is none.
        metric: The task's metric.
        aside: Columns of the answers that are no targets: weights, groups, a choice of rows.

    Raises:
        TableError: They do not match.
    """
    header = list(answers.columns)
    names = [name for name in sample or header if name not in aside]
    identity, predictions = names[0], tuple(names[1:])
    if identity not in header:
        raise TableError(f"the id of the sample submission is not among {header}", column=identity)
    if not predictions:
        raise TableError("the sample submission has no column beside the id", column=identity)
    free = [name for name in header if name != identity and name not in aside]
    _check_count(predictions, metric)
    if set(predictions) <= set(free):
        _warn_unused(free, predictions)
        return Columns(identity, predictions, predictions)
    return _match_one_target(answers, identity, predictions, free, metric)


def _check_count(predictions: tuple[str, ...], metric: Metric) -> None:
    several = metric.columns == "class"
    single = metric.kind in ("label", "text") and not several
    if (several and len(predictions) < 2) or (single and len(predictions) > 1):
        wanted = "one column for each class" if several else "one column"
        raise TableError(
            f"metric {metric.name!r} takes {wanted} beside the id, the sample submission has "
            f"{list(predictions[:_LISTED])}"
        )


def _match_one_target(
    answers: Table, identity: str, predictions: tuple[str, ...], free: list[str], metric: Metric
) -> Columns:
    """Answers in one column of another name."""
    if len(free) != 1 or (len(predictions) > 1 and metric.columns != "class"):
        missing = [name for name in predictions if name not in free]
        raise TableError(f"the answers lack columns of the sample submission: {missing[:_LISTED]}")
    if metric.columns != "class":
        return Columns(identity, tuple(free), predictions)
    labels = set(map(canonical, answers.columns[free[0]]))
    return Columns(identity, tuple(free), predictions, match_classes(labels, predictions))


def match_classes(labels: set[str], columns: Sequence[str]) -> tuple[str, ...]:
    """The class of each column: its name, or what follows the beginning that all of them share.

    Raises:
        TableError: A label has no column.

    Example:
        >>> match_classes({"0", "1"}, ["class_0", "class_1"])
        ('0', '1')
    """
    plain = tuple(map(canonical, columns))
    shared = re.sub(r"[^\W_]*$", "", _common_beginning(plain))
    short = tuple(name[len(shared) :] for name in plain)
    for classes in (plain, short):
        if labels <= set(classes):
            return classes
    lost = [label for label in order_labels(labels) if label not in short]
    raise TableError(f"label {shorten(lost[0])} of the answers has no column among {plain}")


def _common_beginning(names: Sequence[str]) -> str:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    return "".join(letter for letter, _ in pairs)


def _warn_unused(free: Sequence[str], predictions: Sequence[str]) -> None:
    unused = [name for name in free if name not in predictions]
    if unused:
        warnings.warn(
            f"the answers hold columns that the sample submission lacks: {unused[:_LISTED]}; they "
            "are not graded",
            stacklevel=5,
        )
