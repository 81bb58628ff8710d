"""Large submissions of numbers are read another way, which nobody can tell from the grade."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import testing_formats as formats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wmrl_envs.autoresearch import load_task
from wmrl_envs.autoresearch.grading import Grade, GradeStatus
from wmrl_envs.autoresearch.task import Task

N = 5_000
RNG = random.Random(0)
ROWS = [(str(i), f"{RNG.random():.4f}", f"{RNG.random():.4f}") for i in range(N)]
SHUFFLED = RNG.sample(ROWS, N)
CELLS = [
    "0.5", "1", "-0.0", "1e-3", " 0.25", "0.25 ", "+0.5", ".5", "1.", "07", "+7", " 7", "7.0", "7",
    "", "nan", "inf", "-inf", "1e999", "1_0", "0x10", "True", "x", "1.5", "-3", "٣", '"0.5"',
    "9" * 30, "0.5,", "0.5,1", "\n", "1\r", "#", "NA", "0.1000000000000000055511151231257827",
]  # fmt: skip
METRICS = {name: ["a"] for name in ("rmse", "logloss", "auc")}
METRICS |= {name: ["a", "b"] for name in ("mcrmse", "mlogloss")}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Task]:
    """A task for each metric; its targets are 0 and 1."""
    root = tmp_path_factory.mktemp("tasks")
    made = {}
    for metric, columns in METRICS.items():
        truth = [(name, int(float(a) > 0.5), int(float(a) <= 0.5)) for name, a, _ in ROWS]
        folder = formats.write_dojo(
            root,
            metric,
            data__public__sample_submission_csv=",".join(["id", *columns]) + "\n",
            data__private__test_answer_csv=formats.csv_text("id,a,b", truth),
            data__public__train_csv="id,a\n",
        )
        gap = (1.0, 0.5) if metric == "auc" else (0.0, 1.0)
        made[metric] = _load(folder, metric, gap)
    return made


def _load(folder: Path, metric: str, gap: tuple[float, float]) -> Task:
    if len(METRICS[metric]) == 2:
        return load_task(folder, metric=metric, gap=gap)
    with pytest.warns(UserWarning, match="columns that the sample submission lacks"):
        return load_task(folder, metric=metric, gap=gap)


def both(task: Task, lines: list[str]) -> tuple[Grade, Grade]:
    """The grade of a file, and of the same file with a quote in its header."""
    text = "\n".join(lines)
    quoted = text.replace("id", '"id"', 1)
    return task.grade(text.encode(), "all"), task.grade(quoted.encode(), "all")


def lines_of(metric: str) -> list[str]:
    width = 1 + len(METRICS[metric])
    return [",".join(["id", *METRICS[metric]]), *(",".join(row[:width]) for row in SHUFFLED), ""]


@pytest.mark.parametrize("metric", METRICS)
def test_a_faultless_submission_has_the_same_grade_either_way(
    tasks: dict[str, Task], metric: str
) -> None:
    quick, careful = both(tasks[metric], lines_of(metric))
    assert quick.status is GradeStatus.VALID
    assert quick == careful


def put(row: int, column: int, cell: str) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        fields = lines[row].split(",")
        fields[min(column, len(fields) - 1)] = cell
        return [*lines[:row], ",".join(fields), *lines[row + 1 :]]

    return change


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(METRICS)),
    st.integers(0, N),
    st.integers(0, 2),
    st.sampled_from(CELLS),
)
@example("auc", 7, 0, "07")
@example("auc", 0, 1, "b")
@example("mlogloss", 5, 1, "0")
def test_a_cell_that_is_changed_has_the_same_effect_either_way(
    tasks: dict[str, Task], metric: str, row: int, column: int, cell: str
) -> None:
    quick, careful = both(tasks[metric], put(row, column, cell)(lines_of(metric)))
    assert quick == careful


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[:-2],
        lambda lines: [*lines[:-1], "99999,0.5"],
        lambda lines: [*lines[:5], "", *lines[5:]],
        lambda lines: [*lines[:5], lines[5] + "," + lines[6], *lines[7:]],
        lambda lines: [*lines[:5], *lines[5].split(","), *lines[6:]],
        lambda lines: [*lines[:-2], lines[5], ""],
        lambda lines: [lines[0].replace("a", "id"), *lines[1:]],
        lambda lines: lines[1:],
    ],
    ids=["no end", "row lost", "row more", "blank", "joined", "split", "twice", "header", "none"],
)
def test_lines_that_are_changed_have_the_same_effect_either_way(
    tasks: dict[str, Task], change: Callable[[list[str]], list[str]]
) -> None:
    quick, careful = both(tasks["auc"], change(lines_of("auc")))
    assert (quick.status, quick.score) == (careful.status, careful.score)
