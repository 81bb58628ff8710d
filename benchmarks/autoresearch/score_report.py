"""The report of an evaluation: tables for people, a record for programs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final

from rich.table import Table

from wmrl_envs.benchmarks.autoresearch.paper import ROWS
from wmrl_envs.benchmarks.autoresearch.scores import (
    MEASURES,
    Estimate,
    Measure,
    Sample,
    TaskScores,
    estimate,
    macro_estimate,
)
from wmrl_envs.benchmarks.text_table import TextTable

__all__ = ["ScoreReport"]

_MODALITIES: Final = MappingProxyType({"tabular": "Tab", "text": "Text", "image": "Img"})
_CATEGORIES: Final = MappingProxyType(
    {"binary": "Bin-Cls", "multiclass": "Multi-Cls", "regression": "Regress", "other": "Other"}
)
_SHORT: Final = (*_MODALITIES.values(), "Avg", *_CATEGORIES.values(), "Avg")
_PAPER_NOTE: Final = (
    "Rows of the paper (arXiv 2608.12564) are percentiles on the leaderboards of Kaggle: "
    "modalities on MLE-Dojo's test tasks, categories on DSBench. Tasks, leaderboards and models "
    "are others than here, so that the numbers cannot be compared one by one."
)


@dataclass(frozen=True)
class ScoreReport:
    """The scores of one policy.

    Attributes:
        policy: What was evaluated.
        samples: The graded samples.
        ungraded: Episodes that the infrastructure failed on; they count nowhere.
    """

    policy: str
    samples: tuple[Sample, ...]
    ungraded: int = 0

    @property
    def tasks(self) -> tuple[TaskScores, ...]:
        """The samples by task."""
        return TaskScores.by_task(self.samples)

    @property
    def k(self) -> str:
        """Samples a task, as a text: ``8``, or ``7–8`` where some were not graded."""
        counts = sorted({len(task.samples) for task in self.tasks}) or [0]
        return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"

    def estimates(self, measure: Measure) -> dict[str, Estimate]:
        """Column -> estimate: each modality and their mean, each category and theirs, all tasks."""
        by_modality = self._values(measure, lambda sample: sample.modality, _MODALITIES)
        by_category = self._values(measure, lambda sample: sample.category, _CATEGORIES)
        found = {_MODALITIES[key]: estimate(values) for key, values in by_modality.items()}
        found["Avg (modalities)"] = macro_estimate(list(by_modality.values()))
        found |= {_CATEGORIES[key]: estimate(values) for key, values in by_category.items()}
        found["Avg (categories)"] = macro_estimate(list(by_category.values()))
        found["Avg (tasks)"] = estimate([v for values in by_category.values() for v in values])
        return found

    def _values(
        self, measure: Measure, key: Callable[[Sample], str], names: Mapping[str, str]
    ) -> dict[str, list[float]]:
        """The tasks' values by category; tasks without a value are left out."""
        values: dict[str, list[float]] = {name: [] for name in names}
        for task in self.tasks:
            value = measure.value(task)
            if value is not None:
                values[key(task.samples[0])].append(value)
        return values

    def summary(self, paper: bool = False) -> TextTable:
        """One row a measure, in percent with 95 % intervals; the paper's rows beneath."""
        found = {measure: self.estimates(measure) for measure in self._measures()}
        columns = list(next(iter(found.values())))
        rows = [
            (measure.title.format(k=self.k), *map(_percent, estimates.values()))
            for measure, estimates in found.items()
        ]
        rows += list(_paper_rows(columns)) if paper else []
        return TextTable(("", *columns), tuple(rows))

    def console(self, paper: bool = False) -> Iterator[Table | str]:
        """What a terminal shows: narrow tables, and how to read them."""
        yield self.summary().transposed().console(f"{self.policy}, percent")
        yield self.by_task().console()
        yield self._legend()
        if paper:
            percentile = self.estimates(MEASURES[0])
            own = (self.policy, *(f"{100 * e.value:.1f}" for e in percentile.values()))
            rows = [own, *_paper_rows(list(percentile))]
            yield TextTable(("method", *_SHORT), tuple(row[:-1] for row in rows)).console()
            yield _PAPER_NOTE

    def by_task(self) -> TextTable:
        """One row a task."""
        columns = ("task", "category", "samples", "avg", "best", "valid", "medals", "best score")
        return TextTable(columns, tuple(map(_task_row, self.tasks)))

    def markdown(self, paper: bool = False) -> str:
        """Both tables and how to read them."""
        parts = [f"# {self.policy}", self.summary(paper).markdown(), self._legend()]
        parts += [_PAPER_NOTE] if paper else []
        return "\n\n".join([*parts, self.by_task().markdown()]) + "\n"

    def latex(self, paper: bool = False) -> str:
        """Both tables, for the package booktabs."""
        return f"{self.summary(paper).latex()}\n\n{self.by_task().latex()}\n"

    def record(self) -> dict[str, Any]:
        """A JSON-able record: estimates, tasks and samples; NaN becomes None."""
        return {
            "policy": self.policy,
            "samples_per_task": self.k,
            "ungraded": self.ungraded,
            "estimates": {
                measure.key: {
                    column: {name: _finite(value) for name, value in asdict(found).items()}
                    for column, found in self.estimates(measure).items()
                }
                for measure in self._measures()
            },
            "tasks": {task.task: _task_record(task) for task in self.tasks},
            "samples": [asdict(sample) for sample in self.samples],
        }

    def _measures(self) -> list[Measure]:
        """Those that some task has a value of."""
        return [m for m in MEASURES if any(m.value(task) is not None for task in self.tasks)]

    def _legend(self) -> str:
        ungraded = f" {self.ungraded} episodes were not graded." if self.ungraded else ""
        return (
            f"Percent, over {len(self.tasks)} tasks with {self.k} samples each; failures count 0. "
            f"In brackets 95 % intervals by resampling tasks.{ungraded}"
        )


def _percent(found: Estimate) -> str:
    if math.isnan(found.value):
        return "–"
    value = f"{100 * found.value:.1f}"
    if math.isnan(found.low):
        return value
    return f"{value} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _paper_rows(columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for row in ROWS:
        values = [*row.modalities, *row.categories]
        cells = [f"{value:.1f}" for value in values] + ["–"] * (len(columns) - len(values))
        yield (f"paper: {row.method}", *cells)


def _task_row(task: TaskScores) -> tuple[str, ...]:
    sample = task.samples[0]
    medals = [sum(s.medal == name for s in task.samples) for name in ("gold", "silver", "bronze")]
    best = max(task.samples, key=lambda s: s.position).score
    return (
        task.task,
        f"{sample.modality} {sample.category}",
        str(len(task.samples)),
        f"{100 * task.average:.1f}",
        f"{100 * task.best:.1f}",
        f"{100 * task.valid_rate:.0f}",
        "/".join(map(str, medals)),
        "–" if best is None else f"{best:.4g}",
    )


def _task_record(task: TaskScores) -> dict[str, Any]:
    values = {measure.key: measure.value(task) for measure in MEASURES}
    return {key: _finite(value) for key, value in values.items()}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)
