"""Opening a task folder of any known format."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from wmrl_envs.autoresearch.answers import AnswerKey, make_key
from wmrl_envs.autoresearch.files import is_lfs_pointer, read_file
from wmrl_envs.autoresearch.formats import dsbench, mle_bench, mle_dojo
from wmrl_envs.autoresearch.formats.boards import GapRanking, find_boards, load_boards
from wmrl_envs.autoresearch.formats.columns import Columns, match_columns
from wmrl_envs.autoresearch.formats.layout import Layout
from wmrl_envs.autoresearch.formats.modality import find_modality
from wmrl_envs.autoresearch.formats.mounts import find_mounts
from wmrl_envs.autoresearch.formats.options import (
    TIME_LIMIT,
    Options,
    PathLike,
    check_options,
    choose_metric,
)
from wmrl_envs.autoresearch.formats.prepared import PreparedTask, Source
from wmrl_envs.autoresearch.formats.registry import Facts, facts
from wmrl_envs.autoresearch.leaderboard import Ranking
from wmrl_envs.autoresearch.metrics import Metric, PredictionKind
from wmrl_envs.autoresearch.spec import TaskSpec
from wmrl_envs.autoresearch.table import Table, TableError, read_table
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import TaskFormatError

__all__ = ["find_tasks", "load_task"]

_SPLITS: Final = {"train": "train", "test": "test", "dsbench": "test"}
_HEADER_BYTES: Final = 1 << 20
_SHOWN_CLASSES: Final = 50
_CATEGORIES: Final = {"value": "regression", "text": "other"}


def load_task(
    path: PathLike,
    *,
    name: str | None = None,
    metric: str | Metric | Callable[..., float] | None = None,
    higher_is_better: bool | None = None,
    kind: PredictionKind = "value",
    leaderboards: PathLike | Sequence[PathLike] | None = None,
    gap: tuple[float, float] | None = None,
    modality: str | None = None,
    time_limit: float = TIME_LIMIT,
    data: Mapping[PathLike, str] | None = None,
    strict_paper: bool = False,
) -> Task:
    """Opens a task folder: our own format, MLE-Dojo's, MLE-bench's or DSBench's.

    The format is recognised by its files; the other benchmarks' code is not needed, and none of
    their data are copied: the public folder is mounted where it lies. Metric and direction come
    from the registry by the competition's name, unless they are given; the direction is held
    against the order of the leaderboards.

    Args:
        path: Our own: the folder of ``task.toml`` (which takes no options). MLE-Dojo:
            ``<root>/<name>``. MLE-bench: ``<data_dir>/<name>``. DSBench: the folder that holds
            ``data_resplit``, or ``…/data_resplit/<name>``.
        name: The competition's name, where the folder's is not it, or which task of DSBench.
        metric: A name of the metric registry, a :class:`~wmrl_envs.autoresearch.metrics.Metric`, or
            a function ``(truth, prediction) -> float``.
        higher_is_better: The direction of a metric that is a function.
        kind: What a submission holds for a metric that is a function: ``label``, ``probability``,
            ``value`` or ``text``.
        leaderboards: Board files, or a folder that holds them, such as a clone of MLE-bench.
        gap: Reference and baseline scores in place of a leaderboard.
        modality: ``tabular``, ``text`` or ``image``; by default the public files tell.
        time_limit: Wall seconds of one execution.
        data: Further folders to mount read-only: host folder -> absolute place.
        strict_paper: Keep constant and inverted boards, and grade on all answers in every half, as
            the published numbers do.

    Raises:
        TaskFormatError: No format fits, a file breaks it, nothing is known of the metric or of a
            leaderboard, the direction contradicts the boards, or files were not fetched from Git
            LFS (the message holds the command).
        TypeError: A metric that is a function has no direction.
        ValueError: An argument has an impossible value.
    """
    options = Options(
        name,
        metric,
        higher_is_better,
        kind,
        leaderboards,
        gap,
        modality,
        time_limit,
        data,
        strict_paper,
    )
    folder = Path(path).absolute()
    if not (folder / "task.toml").is_file():
        return _open_prepared(folder, options)
    if options != Options():
        raise ValueError(f"a folder with task.toml takes no options, got {options}")
    return Task.from_folder(folder)


def _open_prepared(folder: Path, options: Options) -> PreparedTask:
    check_options(options)
    layout = _recognise(folder, options.name)
    known = facts(layout.name)
    if known.issue:
        warnings.warn(f"task {layout.name!r}: {known.issue}", stacklevel=3)
    key = _open_answers(layout, known, options)
    rankings = _rankings(layout, key.metric, options)
    mounts = find_mounts(layout, options.data)
    source = Source(load_task, str(folder), vars(options))
    return PreparedTask(layout, known, key, rankings, mounts, source)


def find_tasks(root: PathLike) -> tuple[Path, ...]:
    """The paths below a root that :func:`load_task` opens, sorted: one for each task.

    Args:
        root: A folder of task folders, or the folder that holds DSBench's ``data_resplit``.
    """
    folder = Path(root).absolute()
    for data in (folder / "data_resplit", folder / "data" / "data_resplit"):
        if data.is_dir():
            return tuple(sorted(path for path in data.iterdir() if path.is_dir()))
    return tuple(sorted(path for path in folder.iterdir() if path.is_dir() and _is_task(path)))


def _is_task(path: Path) -> bool:
    marks = (
        "task.toml",
        "data/public/description.txt",
        "public/description.txt",
        "prepared/public/description.md",
    )
    return any((path / mark).is_file() for mark in marks)


def _recognise(folder: Path, name: str | None) -> Layout:
    layout = mle_dojo.recognise(folder) or mle_bench.recognise(folder)
    if layout is not None:
        return layout if name is None else replace(layout, name=name)
    layout = dsbench.recognise(folder, name)
    if layout is None:
        raise TaskFormatError(
            f"{folder}: no task of a known format; wanted are task.toml, "
            "data/public/description.txt (MLE-Dojo), prepared/public/description.md (MLE-bench) "
            "or data_resplit (DSBench)"
        )
    return layout


def _open_answers(layout: Layout, known: Facts, options: Options) -> AnswerKey:
    metric = choose_metric(layout, known, options)
    try:
        answers = read_file(layout.answers)
        known = _applicable(known, answers, metric)
        aside = [name for name in (known.extra, known.keep and known.keep[0]) if name]
        columns = match_columns(answers, _header(layout.sample), metric, aside)
        spec = _spec(layout, known, options, metric, columns)
        return _key(answers, spec, layout.answers)
    except (OSError, TableError) as error:
        raise TaskFormatError(f"{layout.answers}: {error}") from None


def _applicable(known: Facts, answers: Table, metric: Metric) -> Facts:
    """The two benchmarks that share a task do not always share its further columns."""
    extra = known.extra if known.extra in answers.columns else ""
    keep = known.keep if known.keep and known.keep[0] in answers.columns else None
    if metric.extra == "group" and not extra:
        raise TableError(f"metric {metric.name!r} needs the groups, a column {known.extra!r}")
    if metric.extra == "weight" and not extra:
        warnings.warn(f"the answers hold no weights ({known.extra!r}): all are 1", stacklevel=5)
    return replace(known, extra=extra, keep=keep)


def _header(sample: Path | None) -> list[str] | None:
    """The columns of a sample submission; of a large one only the beginning is read."""
    if sample is None:
        return None
    try:
        if sample.suffix.lower() != ".csv" or is_lfs_pointer(sample):
            return list(read_file(sample).columns)
        with sample.open("rb") as file:
            return list(read_table(file.readline(_HEADER_BYTES)).columns)
    except TableError as error:
        raise TaskFormatError(f"{sample}: {error}") from None


def _spec(
    layout: Layout, known: Facts, options: Options, metric: Metric, columns: Columns
) -> TaskSpec:
    return TaskSpec(
        name=layout.name,
        split=_SPLITS.get(known.split, "none"),
        modality=options.modality or find_modality(layout.public),
        category=_CATEGORIES.get(metric.kind, "other"),
        metric=metric.name,
        time_limit=float(options.time_limit),
        id_column=columns.id,
        target_columns=columns.targets,
        classes=columns.classes,
        source=layout.format,
        extra_column=known.extra,
        submission_columns=columns.predictions,
        open_labels=not metric.ordinal,
        weights=known.weights,
        keep=known.keep,
        whole=options.strict_paper,
        own_metric=metric,
    )


def _key(answers: Table, spec: TaskSpec, path: Path) -> AnswerKey:
    """Answers on which the metric is undefined by halves are graded whole."""
    try:
        key = make_key(answers, spec)
    except TableError as error:
        if spec.whole or "undefined on the" not in error.problem:
            raise
        warnings.warn(f"{path}: {error}; every half is all of the answers", stacklevel=6)
        key = make_key(answers, replace(spec, whole=True))
    return replace(key, spec=_with_classes(key))


def _with_classes(key: AnswerKey) -> TaskSpec:
    """Many labels are told to nobody: they may be the answers themselves."""
    spec = key.spec
    if not spec.has_codes:
        return spec
    classes = key.labels if len(key.labels) <= _SHOWN_CLASSES else ()
    count = len(key.labels) or len(spec.prediction_columns)
    return replace(spec, classes=classes, category="binary" if count == 2 else "multiclass")


def _rankings(layout: Layout, metric: Metric, options: Options) -> tuple[Ranking, ...]:
    paths = list(layout.boards)
    if options.leaderboards is not None:
        paths = find_boards(options.leaderboards, layout.name)
    if paths and options.gap is None:
        return load_boards(paths, metric.higher_is_better, options.strict_paper)
    gap = options.gap or layout.gap
    if gap is None:
        raise TaskFormatError(
            f"{layout.public}: task {layout.name!r} has no leaderboard; pass leaderboards=… "
            "(files, or a folder such as a clone of the benchmark), or gap=(reference, baseline)"
        )
    if (gap[0] > gap[1]) != metric.higher_is_better:
        raise TaskFormatError(
            f"{layout.public}: reference {gap[0]} and baseline {gap[1]} contradict the direction "
            f"of metric {metric.name!r}"
        )
    return (GapRanking(*gap),)
