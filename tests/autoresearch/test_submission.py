"""Submissions of every kind: equal ones score alike, faulty ones are named and never scored."""

import pickle
import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import testing_formats as formats
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wmrl_envs.autoresearch import load_task
from wmrl_envs.autoresearch.grading import Grade, GradeStatus
from wmrl_envs.autoresearch.task import Task

N = 40
IDS = [str(i) for i in range(100, 100 + N)]
Rows = list[list[str]]

KINDS: dict[str, tuple[str, list[str], Callable[[random.Random, int], list[str]]]] = {
    "label": ("accuracy", ["target"], lambda rng, row: [str(rng.randrange(3))]),
    "word": ("macro_f1", ["target"], lambda rng, row: [rng.choice(["red", "green", "blue"])]),
    "scale": ("qwk", ["target"], lambda rng, row: [str(1 + (rng.randrange(4) + row) % 4)]),
    "score": ("auc", ["target"], lambda rng, row: [str((rng.randrange(9) + row) % 2)]),
    "value": ("rmse", ["target"], lambda rng, row: [f"{rng.gauss(10, 5):.3f}"]),
    "values": ("mcrmse", ["a", "b"], lambda rng, row: [f"{rng.random():.3f}" for _ in "ab"]),
    "classes": ("mlogloss", ["a", "b"], lambda rng, row: [str(int(row % 3 == i)) for i in (0, 1)]),
    "text": ("jaccard", ["target"], lambda rng, row: [f"w{rng.randrange(5)} w{row % 3}"]),
}


def rows_of(kind: str, seed: int) -> Rows:
    rng = random.Random(seed)
    rows = [[name, *KINDS[kind][2](rng, row)] for row, name in enumerate(IDS)]
    if kind == "classes":
        rows = [[name, a, str(1 - int(a))] for name, a, _ in rows]
    return rows


def text_of(kind: str, rows: Iterable[Iterable[str]]) -> str:
    return formats.csv_text(",".join(["id", *KINDS[kind][1]]), rows)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Task]:
    """A task for each kind of submission."""
    root = tmp_path_factory.mktemp("tasks")
    made = {}
    for kind, (metric, columns, _) in KINDS.items():
        header = ",".join(["id", *columns])
        up = metric not in ("rmse", "mcrmse", "mlogloss")
        boards = formats.board(*sorted((0.9, 0.5, 0.2), reverse=up))
        folder = formats.write_dojo(
            root,
            kind,
            data__public__sample_submission_csv=header + "\n",
            data__private__test_answer_csv=text_of(kind, rows_of(kind, 0)),
            data__private__public_leaderboard_csv=boards,
            data__private__private_leaderboard_csv=boards,
        )
        made[kind] = load_task(folder, metric=metric)
    return made


def grade(tasks: dict[str, Task], kind: str, text: str) -> Grade:
    return tasks[kind].grade(text.encode(), "all")


@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_themselves_are_a_perfect_submission(tasks: dict[str, Task], kind: str) -> None:
    graded = grade(tasks, kind, text_of(kind, rows_of(kind, 0)))
    assert graded.position == 1.0, graded.message
    assert graded.score == pytest.approx(0.0 if "rmse" in tasks[kind].metric else graded.score)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from(list(KINDS)),
    st.integers(1, 50),
    st.permutations(range(N)),
    st.sampled_from(["{}", "{}.0", " {}", '"{}"']),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_a_shuffled_retyped_or_reordered_copy_scores_the_same(
    tasks: dict[str, Task],
    kind: str,
    seed: int,
    order: list[int],
    spelling: str,
    newline: str,
    turned: bool,
    mark: bool,
) -> None:
    rows, header = rows_of(kind, seed), ["id", *KINDS[kind][1]]
    copy = [[spelling.format(rows[i][0]), *rows[i][1:]] for i in order]
    if kind in ("label", "scale", "score"):
        copy = [[name, f"{value}.0"] for name, value in copy]
    if turned:
        copy, header = [row[::-1] for row in copy], header[::-1]
    text = formats.csv_text(",".join(header), copy).replace("\n", newline)
    original = grade(tasks, kind, text_of(kind, rows))
    assert original.score is not None, original.message
    copied = grade(tasks, kind, "\ufeff" * mark + text)
    assert copied.score == pytest.approx(original.score, rel=1e-12), copied.message
    assert copied.position == original.position


def replaced(rows: Rows, row: int, column: int, cell: str) -> Rows:
    return [
        [*r[:column], cell, *r[column + 1 :]] if number == row else r
        for number, r in enumerate(rows)
    ]


Mutation = Callable[[str, Rows, int], tuple[str | bytes, str]]
"""From a kind, its rows and a row's number to a faulty submission and what must be said of it."""


def cell(content: str) -> Mutation:
    def mutate(kind: str, rows: Rows, row: int) -> tuple[str, str]:
        return text_of(kind, replaced(rows, row, 1, content)), f"row {row + 1}: {content!r} is"

    return mutate


def missing_column(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    header = ",".join(["id", *KINDS[kind][1][:-1]])
    return formats.csv_text(header, (r[:-1] for r in rows)), "missing"


def second_column(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    text = text_of(kind, ([*r, "7"] for r in rows))
    return text.replace("\n", ",more\n", 1), "column 'more': not asked for"


def extra_row(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    return text_of(kind, [*rows, ["999", *rows[row][1:]]]), f"more than the {N} rows"


def missing_row(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    return text_of(kind, rows[:row] + rows[row + 1 :]), f"1 ids are missing: '{IDS[row]}'"


def wrong_id(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    return text_of(kind, replaced(rows, row, 0, "x7")), f"row {row + 1}: 'x7' is no id"


def double_id(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    other = IDS[(row + 1) % N]
    return text_of(kind, replaced(rows, row, 0, other)), f"id '{other}' occurs twice"


def ragged(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    width = len(rows[0])
    faulty = [*rows[:row], [*rows[row], "7"], *rows[row + 1 :]]
    return text_of(kind, faulty), f"row {row + 1}: {width + 1} fields, the header has {width}"


def huge(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    return text_of(kind, rows) + "\n" * (2 << 20), "are enough for 40 rows"


def pickled(kind: str, rows: Rows, row: int) -> tuple[bytes, str]:
    return pickle.dumps(rows[: row + 1]), "the file is a pickle"


def page(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    return f"<html><body>{rows[row]}</body></html>", "the file is HTML"


def nothing(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    return "\n" * row, "the file is empty"


def binary(kind: str, rows: Rows, row: int) -> tuple[bytes, str]:
    return text_of(kind, rows).encode()[: 20 + row] + b"\0\xff", "NUL byte"


def not_a_text(kind: str, rows: Rows, row: int) -> tuple[bytes, str]:
    return text_of(kind, rows).encode()[: 20 + row] + b"\xff\xfe", "not UTF-8 text"


def semicolons(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    return text_of(kind, rows).replace(",", ";"), "column 'id': missing"


def numbers(kind: str, rows: Rows, row: int) -> tuple[str, str]:
    return text_of(kind, ([r[0], "7"] for r in rows)), "'7' is a number; the labels are 'blue'"


ANY: dict[str, Mutation] = {
    "missing column": missing_column,
    "second column": second_column,
    "extra row": extra_row,
    "missing row": missing_row,
    "wrong id": wrong_id,
    "double id": double_id,
    "ragged": ragged,
    "huge": huge,
    "pickle": pickled,
    "HTML": page,
    "nothing": nothing,
    "NUL": binary,
    "no text": not_a_text,
    "semicolons": semicolons,
    "empty cell": cell(""),
}
NUMBERS: dict[str, Mutation] = {
    "NaN": cell("nan"),
    "inf": cell("inf"),
    "minus inf": cell("-Infinity"),
    "overflow": cell("1e999"),
    "word": cell("many"),
}
CASES = [
    *((kind, name, mutation) for kind in KINDS for name, mutation in ANY.items()),
    *((k, n, m) for k in KINDS if k not in ("text", "word") for n, m in NUMBERS.items()),
    ("word", "numbers", numbers),
    ("word", "NaN", cell("NaN")),
    ("scale", "beyond the scale", cell("9")),
    ("classes", "no probability", cell("1.5")),
]  # fmt: skip


@pytest.mark.parametrize("row", [1, 23])
def test_faulty_submissions_are_invalid_and_the_message_names_the_fault(
    tasks: dict[str, Task], row: int
) -> None:
    assert 2 * len(CASES) >= 200
    for kind, name, mutation in CASES:
        content, message = mutation(kind, rows_of(kind, 3), row)
        data = content.encode() if isinstance(content, str) else content
        graded = tasks[kind].grade(data, "all")
        assert graded.status is GradeStatus.INVALID_SUBMISSION, (kind, name)
        assert (graded.score, graded.position) == (None, None), (kind, name)
        assert message in graded.message, (kind, name, graded.message)


def test_labels_that_the_answers_lack_are_wrong_but_valid(tasks: dict[str, Task]) -> None:
    for kind, label in (("label", "8"), ("word", "violet")):
        graded = grade(tasks, kind, text_of(kind, ([name, label] for name in IDS)))
        assert graded.score == 0.0


def test_texts_may_be_empty_where_answers_are(tmp_path: Path) -> None:
    answers = text_of("text", ([name, "" if name == IDS[0] else "a"] for name in IDS))
    folder = formats.write_dojo(tmp_path, data__private__test_answer_csv=answers)
    graded = load_task(folder, metric="jaccard").grade(answers.encode())
    assert graded.score == 1.0


def test_the_time_of_grading_grows_with_the_rows_and_not_faster(tmp_path: Path) -> None:
    """The same work for 20 times the rows takes less than 60 times the CPU time."""
    seconds = []
    for rows in (5_000, 100_000):
        rng = random.Random(0)
        truth = formats.csv_text("id,target", ((i, rng.randrange(2)) for i in range(rows)))
        order = list(range(rows))
        rng.shuffle(order)
        data = formats.csv_text("id,target", ((i, rng.random()) for i in order)).encode()
        folder = formats.write_dojo(
            tmp_path / str(rows),
            data__private__test_answer_csv=truth,
            data__public__sample_submission_csv="id,target\n",
        )
        task = load_task(folder, metric="auc")
        seconds.append(min(_cpu_seconds(lambda t=task, d=data: t.grade(d)) for _ in range(5)))
    assert seconds[1] < 60 * seconds[0]


def _cpu_seconds(work: Callable[[], Grade]) -> float:
    start = time.process_time()
    assert work().score is not None
    return time.process_time() - start
