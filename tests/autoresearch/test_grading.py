"""From an action to a grade: code, submissions, the reward ladder."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import testing_tasks
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wmrl_envs.autoresearch.answers import AnswerKey, split_halves
from wmrl_envs.autoresearch.grading import (
    Grade,
    GradeStatus,
    compiles,
    extract_code,
    grade_submission,
    ladder_reward,
)

Grader = Callable[..., Grade]
Keys = Callable[[str], AnswerKey]
CLASS_ANSWERS = {i: ("red", "green", "blue")[i % 3] for i in range(10, 22)}
VALID = "id,target\n" + "".join(f"{i},{i % 2}\n" for i in range(10, 18))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """Answer keys by metric: eight ids 10 … 17, odd ones positive; twelve ids for class columns."""
    folder, made = tmp_path_factory.mktemp("keys"), dict[str, AnswerKey]()

    def key(metric: str) -> AnswerKey:
        if metric not in made:
            per_class = metric in ("mlogloss", "map3")
            answers = CLASS_ANSWERS if per_class else {i: i % 2 for i in range(10, 18)}
            made[metric] = testing_tasks.answer_key(folder / metric, metric, answers)
        return made[metric]

    return key


@pytest.fixture(scope="module")
def grade(keys: Keys) -> Grader:
    """Grades a text or bytes on all answers of the toy key of a metric."""

    def grader(submission: str | bytes, metric: str = "accuracy") -> Grade:
        data = submission.encode() if isinstance(submission, str) else submission
        return grade_submission(data, keys(metric), testing_tasks.board(metric), "all")

    return grader


class TestValidSubmissions:
    """What counts as the same submission."""

    def test_a_perfect_submission_has_a_perfect_score(self, grade: Grader) -> None:
        graded = grade(VALID)
        assert (graded.status, graded.score, graded.position) == (GradeStatus.VALID, 1.0, 1.0)
        assert "accuracy 1 (higher is better)" in graded.message

    def test_rows_and_columns_may_come_in_any_order(self, grade: Grader) -> None:
        lines = [f"{i % 2},{i}" for i in range(10, 18)]
        random.Random(0).shuffle(lines)
        assert grade("target,id\n" + "\n".join(lines)).score == 1.0

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace(",0", ",0.0").replace(",1\n", ",1.0\n"),
            lambda text: text.replace("\n1", "\n 1").replace(",1\n", ", 1\n"),
            lambda text: "".join(
                f"{int(line.split(',')[0])}.0,{line.split(',')[1]}\n" if line[0] == "1" else line
                for line in text.splitlines(keepends=True)
            ),
            lambda text: text.replace(",1\n", ',"1"\n'),
            lambda text: text.replace("\n", "\r\n"),
            lambda text: text.replace("\n", "\n\n"),
            lambda text: "\ufeff" + text,
            lambda text: text.rstrip("\n"),
        ],
        ids=["float labels", "spaces", "float ids", "quotes", "CRLF", "blanks", "BOM", "no end"],
    )
    def test_the_spelling_of_ids_and_labels_does_not_matter(
        self, grade: Grader, change: Callable[[str], str]
    ) -> None:
        assert grade(change(VALID)).score == 1.0

    def test_numbers_are_read_to_the_nearest_double(self, grade: Grader) -> None:
        rows = "".join(f"{i},{0.1 + 0.2!r}\n" for i in range(10, 18))
        assert (
            grade("id,target\n" + rows, "logloss").score
            == grade("id,target\n" + testing_tasks.rows("0.30000000000000004"), "logloss").score
        )

    def test_ranking_metrics_take_any_finite_number(self, grade: Grader) -> None:
        rows = "".join(f"{i},{(i % 2) * 1e6 - 77}\n" for i in range(10, 18))
        assert grade("id,target\n" + rows, "auc").score == 1.0

    def test_class_probabilities_are_rescaled_like_kaggle_does(self, grade: Grader) -> None:
        header, ids = "id,blue,green,red\n", range(10, 22)
        whole = grade(header + "".join(f"{i},0.2,0.2,0.6\n" for i in ids), "mlogloss")
        half = grade(header + "".join(f"{i},0.1,0.1,0.3\n" for i in ids), "mlogloss")
        assert whole.score is not None and whole.score == pytest.approx(half.score)

    def test_probabilities_may_leave_the_interval_by_rounding(self, grade: Grader) -> None:
        assert grade("id,target\n" + testing_tasks.rows(1.0000000002), "logloss").score is not None


BROKEN = {
    "empty": (b"", "the file is empty"),
    "blank": (b"\n\n  \n", "column 'id': missing"),
    "BOM alone": (b"\xef\xbb\xbf", "the file is empty"),
    "NUL": (VALID.encode() + b"\0", "NUL byte at position"),
    "pickle": (b"\x80\x04\x95\x0b", "the file is a pickle, not a CSV file"),
    "UTF-16": (VALID.encode("utf-16-be"), "NUL byte"),
    "latin-1": ("id,target\n10,é\n".encode("latin-1"), "not UTF-8 text"),
    "HTML": (b"<!DOCTYPE html>\n<html></html>\n", "the file is HTML, not a CSV file"),
    "JSON": (b'{"id": [10], "target": [1]}', "the file is JSON, not a CSV file"),
    "other separator": (VALID.replace(",", ";").encode(), "column 'id': missing"),
    "header alone": (b"id,target\n", "8 ids are missing: '10', '11', '12', '13', '14', …"),
    "no header": (VALID.partition("\n")[2].encode(), "column 'id': missing"),
    "missing column": (b"id\n" + b"10\n" * 3, "column 'target': missing"),
    "index column": (
        ("x" + VALID).replace("xid", "Unnamed: 0,id").replace("\n1", "\n0,1").encode(),
        "column 'Unnamed: 0': not asked for; wanted are 'id', 'target'",
    ),
    "repeated column": (b"id,target,target\n10,1,1\n", "column 'target': the column occurs twice"),
    "ragged row": (VALID.replace("12,0", "12,0,7").encode(), "row 3: 3 fields, the header has 2"),
    "open quote": (VALID.replace("12,0", '12,"0').encode(), "is not CSV"),
    "missing id": (VALID.replace("12,0\n", "").encode(), "column 'id': 1 ids are missing: '12'"),
    "extra id": ((VALID + "18,0\n").encode(), "more than the 8 rows"),
    "unknown id": (VALID.replace("12,0", "99,0").encode(), "row 3: '99' is no id of the test set"),
    "duplicate id": (VALID.replace("12,0", "11,0").encode(), "row 3: id '11' occurs twice"),
    "empty id": (VALID.replace("12,0", ",0").encode(), "row 3: '' is no id"),
    "wrong label": (
        VALID.replace("12,0", "12,2").encode(),
        "column 'target', row 3: '2' is no label; the labels are '0', '1'",
    ),
    "fraction": (VALID.replace("12,0", "12,0.4").encode(), "row 3: '0.4' is no label"),
    "empty cell": (VALID.replace("12,0", "12,").encode(), "row 3: '' is no label"),
    "NaN label": (VALID.replace("12,0", "12,nan").encode(), "row 3: 'nan' is no label"),
    "huge": (VALID.encode() + b"\n" * (2 << 20), "bytes; "),
    "endless line": (b"id,target\n10," + b"1" * 500_000, "is not CSV: field larger"),
}


class TestBrokenSubmissions:
    """Every fault ends as ``invalid_submission`` with a message that names it."""

    @pytest.mark.parametrize("name", BROKEN)
    def test_the_message_names_the_fault(self, grade: Grader, name: str) -> None:
        data, message = BROKEN[name]
        graded = grade(data)
        assert graded.status is GradeStatus.INVALID_SUBMISSION
        assert (graded.score, graded.position) == (None, None)
        assert message in graded.message

    @pytest.mark.parametrize(
        "cell", ["", "nan", "NaN", "inf", "-inf", "1e999", "abc", "1,5", "1_0", "٣", "0x10", "True"]
    )
    def test_a_cell_that_is_no_finite_number_is_named(self, grade: Grader, cell: str) -> None:
        text = "id,target\n" + testing_tasks.rows(0.5).replace("13,0.5", f'13,"{cell}"')
        graded = grade(text, "rmse")
        assert graded.status is GradeStatus.INVALID_SUBMISSION
        assert f"column 'target', row 4: '{cell}' is no finite number" in graded.message

    @pytest.mark.parametrize("cell", ["-0.1", "1.1", "100"])
    def test_a_probability_outside_the_unit_interval_is_named(
        self, grade: Grader, cell: str
    ) -> None:
        text = "id,target\n" + testing_tasks.rows(0.5).replace("13,0.5", f"13,{cell}")
        graded = grade(text, "logloss")
        assert f"row 4: '{cell}' is no probability from 0 to 1" in graded.message

    def test_class_probabilities_that_are_all_zero_are_named(self, grade: Grader) -> None:
        rows = "".join(f"{i},0,0,{int(i != 15)}\n" for i in range(10, 22))
        graded = grade("id,blue,green,red\n" + rows, "mlogloss")
        assert "row 6: the probabilities of all classes are 0" in graded.message

    def test_labels_instead_of_class_columns_are_named(self, grade: Grader) -> None:
        rows = "".join(f"{i},red\n" for i in range(10, 22))
        assert "column 'red': missing" in grade("id,target\n" + rows, "mlogloss").message

    def test_numbers_too_large_to_score_are_invalid(self, grade: Grader) -> None:
        graded = grade("id,target\n" + testing_tasks.rows("1e300"), "rmse")
        assert graded.status is GradeStatus.INVALID_SUBMISSION
        assert "too large" in graded.message

    def test_the_whole_submission_is_validated_whichever_half_is_scored(self, keys: Keys) -> None:
        key = keys("accuracy")
        for row in range(10, 18):
            bad = VALID.replace(f"{row},{row % 2}", f"{row},7").encode()
            for half in ("score", "feedback"):
                graded = grade_submission(bad, key, testing_tasks.board("accuracy"), half)
                assert graded.status is GradeStatus.INVALID_SUBMISSION

    def test_messages_quote_untrusted_text_briefly(self, grade: Grader) -> None:
        graded = grade("\n".join(["x" * 100_000] * 3))
        assert len(graded.message) < 300

    def test_no_submission_has_its_own_status(self, keys: Keys) -> None:
        graded = grade_submission(None, keys("accuracy"), testing_tasks.board("accuracy"))
        assert graded.status is GradeStatus.NO_SUBMISSION

    def test_text_instead_of_bytes_is_the_caller_s_mistake(self, keys: Keys) -> None:
        with pytest.raises(TypeError, match="submission must be bytes or None, got str"):
            grade_submission("id", keys("accuracy"), testing_tasks.board("accuracy"))  # type: ignore[arg-type]

    def test_an_unknown_half_is_the_caller_s_mistake(self, keys: Keys) -> None:
        with pytest.raises(ValueError, match="half must be one of .*, got 'both'"):
            grade_submission(b"", keys("accuracy"), testing_tasks.board("accuracy"), "both")  # type: ignore[arg-type]


METRICS = ("accuracy", "logloss", "auc", "rmse", "mlogloss", "map3")
PIECES = [
    "id",
    "target",
    "red",
    ",",
    "\n",
    "\r",
    '"',
    "10",
    "11.0",
    "nan",
    "1e309",
    "-",
    "\x00",
    "é",
]


class TestUntrustedBytes:
    """No bytes make the grader raise."""

    @given(st.sampled_from(METRICS), st.binary(max_size=400))
    def test_random_bytes_are_an_invalid_submission(
        self, grade: Grader, metric: str, data: bytes
    ) -> None:
        assert grade(data, metric).status is GradeStatus.INVALID_SUBMISSION

    @given(st.sampled_from(METRICS), st.lists(st.sampled_from(PIECES), max_size=60))
    @example("accuracy", ["id", ",", "target", "\r"])
    def test_pieces_of_csv_never_raise(self, grade: Grader, metric: str, pieces: list[str]) -> None:
        graded = grade("".join(["id,target\n", *pieces]), metric)
        assert graded.status is GradeStatus.INVALID_SUBMISSION

    @settings(max_examples=200)
    @given(st.integers(0, len(VALID) - 1), st.integers(0, 255), st.sampled_from("ird"))
    def test_a_valid_submission_with_one_byte_changed_never_raises(
        self, grade: Grader, place: int, byte: int, how: str
    ) -> None:
        data = bytearray(VALID.encode())
        if how == "i":
            data.insert(place, byte)
        elif how == "r":
            data[place] = byte
        else:
            del data[place]
        graded = grade(bytes(data))
        assert (graded.score is None) == (graded.status is GradeStatus.INVALID_SUBMISSION)

    @given(st.permutations(range(10, 18)), st.sampled_from(["{}", "{}.0", " {} ", '"{}"']))
    def test_a_shuffled_or_retyped_copy_scores_the_same(
        self, grade: Grader, order: list[int], spelling: str
    ) -> None:
        rows = "".join(f"{spelling.format(i)},{int(i > 13)}\n" for i in order)
        assert grade("id,target\n" + rows).score == 0.5


class TestHalves:
    """The answers are parted once and for all."""

    def test_the_halves_part_the_answers(self, keys: Keys) -> None:
        halves = keys("accuracy").halves
        joined = sorted([*halves["score"], *halves["feedback"]])
        assert joined == list(halves["all"]) == list(range(8))
        assert len(halves["score"]) == 4

    @given(st.permutations([str(i) for i in range(9)]))
    def test_the_halves_depend_on_the_ids_and_not_on_their_order(self, ids: list[str]) -> None:
        expected = split_halves(tuple(map(str, range(9))), "toy")["score"]
        found = split_halves(tuple(ids), "toy")["score"]
        assert len(found) == 5
        assert {ids[row] for row in found} == set(map(str, expected))

    def test_each_half_scores_its_own_rows(self, keys: Keys) -> None:
        key = keys("accuracy")
        wrong = {key.ids[row] for row in key.halves["feedback"]}
        rows = "".join(
            f"{i},{i % 2 if str(i) not in wrong else 1 - i % 2}\n" for i in range(10, 18)
        )
        data, boards = ("id,target\n" + rows).encode(), testing_tasks.board("accuracy")
        assert grade_submission(data, key, boards, "score").score == 1.0
        assert grade_submission(data, key, boards, "feedback").score == 0.0


class TestLadder:
    """The reward ladder."""

    @pytest.mark.parametrize(
        ("status", "reward"),
        [
            (GradeStatus.MALFORMED, 0.0),
            (GradeStatus.SYNTAX_ERROR, 0.0),
            (GradeStatus.RUNTIME_ERROR, 0.1),
            (GradeStatus.TIMEOUT, 0.1),
            (GradeStatus.MEMORY, 0.1),
            (GradeStatus.NO_SUBMISSION, 0.2),
            (GradeStatus.INVALID_SUBMISSION, 0.2),
        ],
    )
    def test_each_failure_has_its_step(self, status: GradeStatus, reward: float) -> None:
        assert ladder_reward(Grade(status)) == reward

    @pytest.mark.parametrize(("position", "reward"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)])
    def test_a_valid_submission_earns_half_and_half_its_position(
        self, position: float, reward: float
    ) -> None:
        assert ladder_reward(Grade(GradeStatus.VALID, 0.3, position)) == reward

    @pytest.mark.parametrize(
        ("status", "score", "position"),
        [
            (GradeStatus.VALID, 0.3, None),
            (GradeStatus.VALID, None, 0.5),
            (GradeStatus.TIMEOUT, None, 0.5),
        ],
    )
    def test_no_grade_lets_an_unknown_position_pass_for_the_last(
        self, status: GradeStatus, score: float | None, position: float | None
    ) -> None:
        with pytest.raises(ValueError, match="score and position must be given for valid grades"):
            Grade(status, score, position)

    def test_a_status_prints_and_compares_as_its_text(self) -> None:
        assert str(GradeStatus.VALID) == GradeStatus.VALID == "valid"


FENCE = "```"


DOCSTRING = f"def f():\n    '''\n    {FENCE}\n    '''\n"


class TestExtractCode:
    """Which part of an action is the program."""

    @pytest.mark.parametrize(
        ("action", "code"),
        [
            (f"Text.\n{FENCE}python\nx = 1\n{FENCE}\nMore.", "x = 1\n"),
            (f"{FENCE}python\na = 1\n{FENCE}\n{FENCE}python\nb = 2\n{FENCE}", "b = 2\n"),
            (f"{FENCE}py\na = 1\n{FENCE}\nOutput:\n{FENCE}\n0.93\n{FENCE}", "a = 1\n"),
            (f"{FENCE}\na = 1\n{FENCE}", "a = 1\n"),
            (f"{FENCE}Python title=x\na = 1\n{FENCE}", "a = 1\n"),
            (f"{FENCE}python\na = 1\nb =", "a = 1\nb =\n"),
            (f"~~~python\na = '''\n{FENCE}\n'''\n~~~", f"a = '''\n{FENCE}\n'''\n"),
            (f"{FENCE}python\r\na = 1\r\n{FENCE}", "a = 1\n"),
            (f"{FENCE}python:main.py\na = 1\n{FENCE}", "a = 1\n"),
            (f"{FENCE}py3.11,linenos\na = 1\n{FENCE}", "a = 1\n"),
            (f"1. So:\n   {FENCE}py\n   if a:\n       b\n\n   {FENCE}", "if a:\n    b\n\n"),
            (f"{FENCE}py\n{DOCSTRING}{FENCE}\nMore.", DOCSTRING),
            ("import os\nprint(1)", "import os\nprint(1)"),
            ("df = load()", "df = load()"),
        ],
    )
    def test_the_program_is_found(self, action: str, code: str) -> None:
        assert extract_code(action) == code

    @pytest.mark.parametrize(
        "action",
        [
            "",
            "  \n",
            "I would rather not.",
            "The answer is 42",
            f"{FENCE}bash\npip install x\n{FENCE}",
            f"{FENCE}python\n\n{FENCE}",
            f"{FENCE}python",
            f"{FENCE}pycon\n>>> x = 1\n{FENCE}",
            f"{FENCE}python-repl\n>>> x = 1\n{FENCE}",
        ],
    )
    def test_without_code_there_is_none(self, action: str) -> None:
        assert extract_code(action) is None

    @given(st.text())
    def test_any_text_is_survived(self, action: str) -> None:
        code = extract_code(action)
        assert code is None or code.strip()


class TestCompiles:
    """The compile gate."""

    def test_good_code_has_no_complaint(self) -> None:
        assert compiles("x = 1\n") is None

    def test_a_complaint_names_the_line(self) -> None:
        message = compiles("x = 1\ny = = 2\n")
        assert message is not None and "line 2" in message

    def test_doubtful_code_compiles_although_python_warns(self) -> None:
        assert compiles("x = '\\d'\nassert (x, 1)\n1 is 1\n") is None

    @pytest.mark.parametrize(
        "code",
        ["a\0b", "'\ud800'", "(" * 10_000, "-" * 200_000 + "1", "9" * 9_999, "x" + ".a" * 99_999],
    )
    def test_code_that_breaks_compilers_is_a_complaint(self, code: str) -> None:
        assert isinstance(compiles(code), str)

    @pytest.mark.parametrize(
        "code", ["import a" + ".a" * 95_000, "from a" + " . \\\n  a" * 20_000 + " import b"]
    )
    def test_a_name_that_would_hold_the_compiler_up_is_a_complaint(self, code: str) -> None:
        assert "dotted name" in (compiles(code) or "")

    def test_many_dots_are_no_long_name(self) -> None:
        assert compiles("x = '" + "0.5 " * 40_000 + "'") is None
        assert compiles("x = [" + "a.b.c, " * 10_000 + "]") is None

    @given(st.text())
    def test_any_text_is_survived(self, code: str) -> None:
        assert compiles(code) is None or isinstance(compiles(code), str)


def test_answers_are_checked_when_they_are_loaded(tmp_path: Path) -> None:
    key = testing_tasks.answer_key(tmp_path, "accuracy", {"a": 0, "b": "1.0", "c": 1, "d": 0})
    assert key.ids == ("a", "b", "c", "d") and list(key.truth) == [0, 1, 1, 0]
