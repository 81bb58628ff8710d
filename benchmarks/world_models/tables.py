"""The tables of a world model's evaluation."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from wmrl_envs.benchmarks.world_models.drift import DriftPoint
from wmrl_envs.benchmarks.world_models.evaluation import Evaluation
from wmrl_envs.wrappers.world_models.calibration import LADDER

__all__ = ["drift_table", "evaluation_tables"]


def evaluation_tables(evaluation: Evaluation, title: str) -> Iterator[Table]:
    """Agreement and cost; the error by level; the confusion of levels; the calibration curve."""
    yield _agreement(evaluation, title)
    yield _levels(evaluation)
    yield _confusion(evaluation)
    yield _curve(evaluation)


def _agreement(evaluation: Evaluation, title: str) -> Table:
    found = evaluation.fidelity
    table = Table("", "value", title=title)
    for name, value in (
        ("episodes", f"{found.count} ({evaluation.no_opinion} without an opinion)"),
        ("Spearman, overall", _number(found.spearman)),
        ("Spearman, mean within a task", _number(found.within_spearman)),
        ("Pearson, overall", _number(found.pearson)),
        ("Pearson, mean within a task", _number(found.within_pearson)),
        ("mean absolute error", _number(found.mae)),
        ("bias (predicted - measured)", _signed(found.bias)),
        ("predictions a second", f"{evaluation.predictions_per_second:,.0f}"),
        ("CPU ms a prediction", f"{1e3 * evaluation.cpu_s_per_prediction:.3g}"),
    ):
        table.add_row(name, value)
    if evaluation.execution_cpu_s is not None and evaluation.cheaper is not None:
        table.add_row("CPU ms an execution", f"{1e3 * evaluation.execution_cpu_s:.3g}")
        table.add_row("predictions for one execution's CPU time", f"{evaluation.cheaper:,.0f}")
    return table


def _levels(evaluation: Evaluation) -> Table:
    table = Table("measured", "episodes", "bias", "MAE", title="error by level of the reward")
    for level in evaluation.levels:
        table.add_row(level.level, str(level.count), _signed(level.bias), _number(level.mae))
    return table


def _confusion(evaluation: Evaluation) -> Table:
    names = [name for name, _ in LADDER]
    table = Table("measured \\ predicted", *names, title="levels, measured and predicted")
    for name, counts in zip(names, evaluation.confusion.tolist(), strict=True):
        table.add_row(name, *map(str, counts))
    return table


def _curve(evaluation: Evaluation) -> Table:
    table = Table("mean predicted", "mean measured", "episodes", title="calibration")
    for point in evaluation.curve:
        table.add_row(_number(point.predicted), _number(point.measured), str(point.count))
    return table


def drift_table(points: Sequence[DriftPoint], title: str) -> Table:
    """One row for each evaluation and split."""
    table = Table(
        "step",
        "tasks",
        "episodes",
        "bias",
        "MAE",
        "Spearman",
        "within a task",
        "corrected: bias",
        "MAE",
        title=title,
    )
    for point in points:
        found, corrected = point.predicted, point.corrected
        table.add_row(
            str(point.step),
            point.split,
            str(found.count),
            _signed(found.bias),
            _number(found.mae),
            _number(found.spearman),
            _number(found.within_spearman),
            "" if corrected is None else _signed(corrected.bias),
            "" if corrected is None else _number(corrected.mae),
        )
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}"
