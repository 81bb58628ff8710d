"""Does a task's public folder tell the answers? A scan for the usual ways in which it does."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from wmrl_envs.autoresearch.layout import sha256
from wmrl_envs.autoresearch.leak_files import answers_in_file
from wmrl_envs.autoresearch.table import Table, canonical, parse_number, read_table
from wmrl_envs.autoresearch.task import Task

__all__ = ["find_leaks", "neighbour_surprise"]

_SURPRISING: Final = 5.0
_DUPLICATES: Final = 0.05
_STRAIGHT: Final = 0.999999
_VALUES_OF_A_LINE: Final = 10
_LOOKED_AT: Final = ("train.csv", "test.csv", "sample_submission.csv")
_PRIVATE_NAMES: Final = ("answers", "leaderboard", "solution")


def find_leaks(task: Task) -> tuple[str, ...]:
    """Scans a task for answers that its public files give away.

    Six things are looked for: private files (or copies of them, or links that lead out) in the
    public folder; the answers in any public file (tables, arrays, texts); target columns in the
    test file; columns of the test file or of the sample submission whose values go one to one with
    the answers; a row order that tells the target (neighbouring rows agree far more, or far less,
    than by chance: sorted data); and test rows that repeat training rows (over 5 percent of them).

    Returns:
        One sentence a leak; empty if none was found, which does not prove that there is none.
    """
    answers = _answers(task)
    leaks = [*_private_files(task), *_hidden_answers(task, answers)]
    if _has_plain_files(task):
        leaks += [*_order(task, answers), *_repeated_rows(task)]
    for name in ("test.csv", "sample_submission.csv"):
        if (task.public_dir / name).is_file():
            leaks += _telling_columns(task, answers, name)
    return tuple(leaks)


def _answers(task: Task) -> Table:
    """The answers as a table, whatever format the task lies in."""
    key = task.answers
    truth = key.truth if key.truth.ndim == 2 else key.truth[:, None]
    columns = {task.id_column: key.ids}
    for name, values in zip(task.target_columns, truth.T, strict=False):
        cells = [key.labels[code] for code in values] if key.labels else map(str, values.tolist())
        columns[name] = tuple(cells)
    return Table(columns, len(key.ids))


def _has_plain_files(task: Task) -> bool:
    """True where training and test rows lie in one file each, in this package's own form."""
    suffix = "npz" if task.modality == "image" else "csv"
    files = [task.public_dir / f"{part}.{suffix}" for part in ("train", "test")]
    return all(path.is_file() for path in files)


def _private_files(task: Task) -> Iterator[str]:
    secrets = {sha256(path) for path in (task.folder / "private").rglob("*") if path.is_file()}
    root = task.public_dir.resolve()
    for path in sorted(task.public_dir.rglob("*")):
        if not path.resolve().is_relative_to(root):
            yield f"{path.name} in public/ leads out of the folder"
        elif path.name.lower().startswith(_PRIVATE_NAMES):
            yield f"{path.name} in public/ is named like a private file"
        elif path.is_file() and sha256(path) in secrets:
            yield f"{path.name} in public/ is a copy of a private file"


def _hidden_answers(task: Task, answers: Table) -> Iterator[str]:
    """The sample submission and the columns of the test file are looked at more closely below."""
    truth = {name: tuple(map(canonical, cells)) for name, cells in answers.columns.items()}
    for path in sorted(task.public_dir.rglob("*")):
        if path.is_file() and path.name not in _LOOKED_AT:
            yield from answers_in_file(path, truth, task.id_column)


def _telling_columns(task: Task, answers: Table, file: str) -> Iterator[str]:
    table = read_table((task.public_dir / file).read_bytes())
    ids = table.columns.get(task.id_column, ())
    rows = {canonical(cell): row for row, cell in enumerate(ids)}
    if not set(map(canonical, answers.columns[task.id_column])) <= rows.keys():
        return  # another format's file that is not aligned with the answers
    order = [rows[canonical(cell)] for cell in answers.columns[task.id_column]]
    for column, cells in table.columns.items():
        if file == "test.csv" and column in task.target_columns:
            yield f"{file} holds the target column {column!r}"
        elif column != task.id_column:
            for target in answers.columns.keys() - {task.id_column}:
                if _tells([cells[row] for row in order], answers.columns[target]):
                    yield f"column {column!r} of {file} tells {target!r}"


def _tells(cells: Sequence[str], truth: Sequence[str]) -> bool:
    """True if values go one to one with the answers: repeated labels, or numbers on a line."""
    if _on_a_line(cells, truth):
        return True
    left, right = list(map(canonical, cells)), list(map(canonical, truth))
    pairs, values = set(zip(left, right, strict=True)), set(left)
    if len(values) < 2 or left == right:
        return left == right and len(values) > 1
    return len(pairs) == len(values) == len(set(right)) and len(values) <= len(left) / 2


def _on_a_line(cells: Sequence[str], truth: Sequence[str]) -> bool:
    """True if numbers, of more than a few values, are the answers times a factor plus an offset."""
    left, right = (np.array(list(map(parse_number, values))) for values in (cells, truth))
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return False
    if min(len(set(left)), len(set(right))) < _VALUES_OF_A_LINE:
        return False
    return bool(abs(np.corrcoef(left, right)[0, 1]) > _STRAIGHT)


def _order(task: Task, answers: Table) -> Iterator[str]:
    ids = [canonical(cell) for cell in answers.columns[task.id_column]]
    truth = dict(zip(ids, answers.columns[task.target_columns[0]], strict=True))
    numbers = [parse_number(name) for name in ids]
    orders = {"the row order of the test file": _test_ids(task)}
    if not any(map(math.isnan, numbers)):
        orders["the order of the ids"] = [ids[row] for row in np.argsort(numbers)]
    for what, order in orders.items():
        surprise = neighbour_surprise([truth[name] for name in order], bool(task.spec.classes))
        if abs(surprise) > _SURPRISING:
            yield f"{what} tells the target: neighbours agree by {surprise:+.1f} standard errors"


def _test_ids(task: Task) -> list[str]:
    if task.modality == "image":
        with np.load(task.public_dir / "test.npz", allow_pickle=False) as arrays:
            return [canonical(str(name)) for name in arrays["id"]]
    table = read_table((task.public_dir / "test.csv").read_bytes())
    return list(map(canonical, table.columns[task.id_column]))


def neighbour_surprise(targets: Sequence[str], labels: bool) -> float:
    """How far the agreement of neighbouring targets is from that of shuffled ones.

    Args:
        targets: N targets in the order under suspicion.
        labels: Count equal neighbours; otherwise correlate neighbouring numbers.

    Returns:
        Standard errors; near 0 for shuffled rows, large for sorted ones.
    """
    if labels:
        return _equal_neighbours(np.unique(list(map(canonical, targets)), return_inverse=True)[1])
    numbers = np.array(list(map(parse_number, targets)))
    ranks = np.unique(numbers, return_inverse=True)[1]
    if ranks.max() == 0:
        return 0.0
    return float(np.corrcoef(ranks[:-1], ranks[1:])[0, 1] * math.sqrt(len(ranks) - 1))


def _equal_neighbours(codes: np.ndarray) -> float:
    chance = float(np.sum((np.bincount(codes) / len(codes)) ** 2))
    if chance >= 1.0:
        return 0.0
    share = float(np.mean(codes[:-1] == codes[1:]))
    return (share - chance) / math.sqrt(chance * (1 - chance) / (len(codes) - 1))


def _repeated_rows(task: Task) -> Iterator[str]:
    train, test = _rows(task, "train"), _rows(task, "test")
    known = set(train)
    share = sum(row in known for row in test) / max(len(test), 1)
    if share > _DUPLICATES:
        yield f"{share:.0%} of the test rows repeat a training row"


def _rows(task: Task, part: str) -> list[object]:
    """The features of each row, as something hashable."""
    if task.modality == "image":
        with np.load(task.public_dir / f"{part}.npz", allow_pickle=False) as arrays:
            return [image.tobytes() for image in arrays["image"]]
    table = read_table((task.public_dir / f"{part}.csv").read_bytes())
    hidden = {task.id_column, *task.target_columns}
    return list(zip(*(c for name, c in table.columns.items() if name not in hidden), strict=True))
