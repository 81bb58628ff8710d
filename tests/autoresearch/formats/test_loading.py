"""Folders of other benchmarks open as tasks, without their code."""

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import testing_formats as formats
import testing_tasks

from wmrl_envs.autoresearch import load_task
from wmrl_envs.autoresearch.formats import PreparedTask, find_tasks
from wmrl_envs.autoresearch.grading import GradeStatus
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import TaskFormatError

SIX_OF_EIGHT = formats.csv_text(
    "id,target", ((i, i % 2 if i < 14 else 1 - i % 2 if i < 16 else i % 2) for i in formats.IDS)
).encode()


def load(path: Path, **options: object) -> PreparedTask:
    task = load_task(path, **options)  # type: ignore[arg-type]
    assert isinstance(task, PreparedTask)
    return task


class TestOurOwn:
    """Our own folders."""

    def test_a_folder_with_task_toml_opens_as_before(self, tmp_path: Path) -> None:
        task = load_task(testing_tasks.write_task(tmp_path / "toy"))
        assert (type(task), task.name) == (Task, "toy")

    def test_it_takes_no_options(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"task\.toml takes no options, got .*metric='auc'"):
            load_task(testing_tasks.write_task(tmp_path / "toy"), metric="auc")

    def test_a_folder_of_no_format_is_an_error_that_names_them(self, tmp_path: Path) -> None:
        with pytest.raises(
            TaskFormatError, match=r"task\.toml, .*MLE-Dojo.*MLE-bench.*data_resplit"
        ):
            load_task(tmp_path)


class TestMLEDojo:
    """``data/public``, ``data/private``, boards of ``rank,score``."""

    def test_the_positions_on_both_boards_are_averaged(self, tmp_path: Path) -> None:
        task = load(formats.write_dojo(tmp_path), metric="accuracy")
        grade = task.grade(SIX_OF_EIGHT, "all")
        # 0.75 is second of 0.9 0.6 0.4 0.1 and second of 0.8 0.5.
        assert (grade.score, grade.position) == (0.75, (3 / 4 + 1 / 2) / 2)

    @pytest.mark.parametrize("inside", [".", "data"])
    def test_the_registry_knows_metric_split_and_category(
        self, tmp_path: Path, inside: str
    ) -> None:
        task = load(formats.write_dojo(tmp_path, "forest-cover-type-kernels-only") / inside)
        assert (task.name, task.metric) == ("forest-cover-type-kernels-only", "accuracy")
        assert (task.split, task.facts.block, task.category) == ("test", "Tab", "binary")

    def test_wmrl_s_names_of_mle_bench_tasks_are_known(self, tmp_path: Path) -> None:
        task = load(formats.write_dojo(tmp_path, "mleb__aerial-cactus-identification"))
        assert (task.name, task.metric) == ("aerial-cactus-identification", "auc")

    def test_the_prompts_hold_description_data_and_contract(self, tmp_path: Path) -> None:
        task = load(formats.write_dojo(tmp_path), metric="accuracy")
        assert "A toy task." in task.overview()
        assert "`train.csv`: 10 rows x 3 columns" in task.overview()
        assert "id,target\n10,0\n" in task.overview()
        assert "description.txt" not in task.overview()
        assert task.card().splitlines()[1] == "rows 10 num 1 cat 0 missing no scale even"
        task.check()

    def test_a_constant_board_is_dropped_and_the_paper_keeps_it(self, tmp_path: Path) -> None:
        constant = formats.board(0.0, 0.0)
        folder = formats.write_dojo(tmp_path, data__private__private_leaderboard_csv=constant)
        with pytest.warns(UserWarning, match="all scores are equal"):
            task = load(folder, metric="accuracy")
        paper = load(folder, metric="accuracy", strict_paper=True)
        assert task.grade(SIX_OF_EIGHT, "all").position == 3 / 4
        assert paper.grade(SIX_OF_EIGHT, "all").position == (3 / 4 + 1) / 2

    def test_the_paper_grades_every_half_on_all_answers(self, tmp_path: Path) -> None:
        paper = load(formats.write_dojo(tmp_path), metric="accuracy", strict_paper=True)
        scores = {paper.grade(SIX_OF_EIGHT, half).score for half in ("score", "feedback", "all")}
        assert scores == {0.75}

    def test_a_direction_that_the_boards_contradict_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(TaskFormatError, match=r"goes from 0\.9 to 0\.1, .* lower is better"):
            load(formats.write_dojo(tmp_path), metric="rmse")

    def test_a_task_without_boards_needs_some(self, tmp_path: Path) -> None:
        boards = {
            "data__private__public_leaderboard_csv": "",
            "data__private__private_leaderboard_csv": "",
        }
        folder = formats.write_dojo(tmp_path, **boards)
        with pytest.raises(TaskFormatError, match="no leaderboard; pass leaderboards="):
            load(folder, metric="accuracy")
        task = load(folder, metric="accuracy", gap=(1.0, 0.5))
        assert task.grade(SIX_OF_EIGHT, "all").position == 0.5

    def test_missing_answers_are_named(self, tmp_path: Path) -> None:
        folder = formats.write_dojo(tmp_path, data__private__test_answer_csv="")
        with pytest.raises(TaskFormatError, match=r"test_answer\.csv: the file is missing"):
            load(folder, metric="accuracy")

    def test_known_issues_are_told(self, tmp_path: Path) -> None:
        folder = formats.write_dojo(tmp_path, "random-acts-of-pizza")
        with pytest.warns(UserWarning, match="giver_username_if_known tells the answers"):
            load(folder)


class TestMLEBench:
    """``prepared/public`` and ``prepared/private``."""

    def test_the_position_is_that_on_the_kaggle_board(self, tmp_path: Path) -> None:
        task = load(formats.write_bench(tmp_path), metric="accuracy")
        # 0.75 is second of 0.9 0.6 0.3; the entry without a score is none.
        assert task.grade(SIX_OF_EIGHT, "all").position == 2 / 3

    @pytest.mark.parametrize(
        "name", ["test_csv", "answers_csv", "test_orders_csv", "inklabels_rle_csv", "test_jsonl"]
    )
    def test_the_answers_have_many_names(self, tmp_path: Path, name: str) -> None:
        lines = [f'{{"id": {i}, "target": {i % 2}}}' for i in formats.IDS]
        content = "\n".join(lines) if name.endswith("jsonl") else formats.answers()
        files = {
            "prepared__private__test_csv": "",
            "prepared__private__gold_submission_csv": formats.answers(),
            f"prepared__private__{name}": content,
        }
        task = load(formats.write_bench(tmp_path, **files), metric="accuracy")
        assert task.grade(SIX_OF_EIGHT, "all").score == 0.75

    @pytest.mark.parametrize(
        "name",
        [
            "sampleSubmission",
            "sample_submission_null",
            "randomPredictions",
            "kaggle_sample_submission",
        ],
    )
    def test_the_sample_submission_has_many_names(self, tmp_path: Path, name: str) -> None:
        files = {
            "prepared__public__sample_submission_csv": "",
            f"prepared__public__{name}_csv": "id,guess\n10,0\n",
            "prepared__private__test_csv": formats.answers("label"),
        }
        task = load(formats.write_bench(tmp_path, **files), metric="accuracy")
        assert (task.prediction_columns, task.target_columns) == (("guess",), ("label",))
        assert f"`{name}.csv` begins" in task.overview()

    def test_a_private_sample_submission_gives_columns_and_is_never_shown(
        self, tmp_path: Path
    ) -> None:
        files = {
            "prepared__public__sample_submission_csv": "",
            "prepared__private__sample_submission_csv": "id,target\n10,0.125\n",
        }
        task = load(formats.write_bench(tmp_path, **files), metric="accuracy")
        assert task.prediction_columns == ("target",)
        assert "0.125" not in task.overview() and "begins" not in task.overview()
        assert list(task.mounts.items()) == [(str(task.public_dir), "/data")]

    def test_further_columns_of_the_answers_are_told_and_not_graded(self, tmp_path: Path) -> None:
        more = formats.csv_text("id,target,u_out", ((i, i % 2, 0) for i in formats.IDS))
        folder = formats.write_bench(tmp_path, prepared__private__test_csv=more)
        with pytest.warns(UserWarning, match=r"columns that the sample .* lacks: \['u_out'\]"):
            assert load(folder, metric="accuracy").target_columns == ("target",)

    def test_rows_that_do_not_count_are_left_out(self, tmp_path: Path) -> None:
        rows = ((i, i, int(i > 12)) for i in formats.IDS)
        folder = formats.write_bench(
            tmp_path,
            "ventilator-pressure-prediction",
            prepared__public__sample_submission_csv="id,pressure\n",
            prepared__private__test_csv=formats.csv_text("id,pressure,u_out", rows),
            leaderboard_csv="score\n0.1\n9\n",
        )
        task = load(folder)
        off = formats.csv_text("id,pressure", ((i, i + (3 if i < 13 else 99)) for i in formats.IDS))
        assert (task.metric, task.grade(off.encode(), "all").score) == ("mae", 3.0)

    def test_unfetched_files_are_named_with_the_command(self, tmp_path: Path) -> None:
        for number, part in enumerate(
            ("leaderboard_csv", "prepared__private__test_csv", "prepared__public__train_csv")
        ):
            folder = formats.write_bench(tmp_path / str(number), **{part: formats.LFS_POINTER})
            with pytest.raises(TaskFormatError, match="run `git -C .* lfs pull --include"):
                load(folder, metric="accuracy")

    def test_the_board_of_a_clone_is_used(self, tmp_path: Path) -> None:
        folder = formats.write_bench(tmp_path, leaderboard_csv="")
        formats.write(
            tmp_path / "clone", mlebench__competitions__toy__leaderboard_csv=formats.board(0.8, 0.2)
        )
        task = load(folder, metric="accuracy", leaderboards=tmp_path / "clone")
        assert task.grade(SIX_OF_EIGHT, "all").position == 0.5


class TestDSBench:
    """``data_resplit``, ``answers``, ``task``."""

    def test_the_position_is_the_relative_performance_gap(self, tmp_path: Path) -> None:
        task = load(formats.write_dsbench(tmp_path, "titanic"))
        baseline = 0.4972067039106145
        expected = (0.75 - baseline) / (1.0 - baseline)
        assert task.grade(SIX_OF_EIGHT, "all").position == pytest.approx(expected)
        assert task.gap(0.75) == pytest.approx(expected)
        assert (task.gap(0.1), task.facts.block, task.split) == (0.0, "MultiCls", "test")

    def test_one_of_several_tasks_is_named_or_pointed_at(self, tmp_path: Path) -> None:
        for name in ("titanic", "spaceship-titanic"):
            root = formats.write_dsbench(tmp_path, name)
        assert load(root, name="titanic").name == "titanic"
        assert load(root / "data_resplit" / "spaceship-titanic").name == "spaceship-titanic"
        with pytest.raises(TaskFormatError, match="name must be one of spaceship-titanic, titanic"):
            load(root)

    def test_the_folders_may_be_split_between_root_and_data(self, tmp_path: Path) -> None:
        formats.write_dsbench(tmp_path, "titanic")
        (tmp_path / "data").mkdir()
        (tmp_path / "task").rename(tmp_path / "data" / "task")
        assert "Predict the target." in load(tmp_path).overview()

    def test_saved_scores_go_before_known_ones(self, tmp_path: Path) -> None:
        files = {
            "save_performance__GT__titanic__result_txt": "1.0",
            "save_performance__baseline__titanic__result_txt": "0.5\n",
        }
        task = load(formats.write_dsbench(tmp_path, "titanic", **files))
        assert task.grade(SIX_OF_EIGHT, "all").position == 0.5

    def test_dsbench_s_own_metric_is_used(self, tmp_path: Path) -> None:
        name = "tabular-playground-series-mar-2022"
        ours = load(formats.write_dsbench(tmp_path / "ds", name))
        boards = dict.fromkeys(
            ("data__private__public_leaderboard_csv", "data__private__private_leaderboard_csv"),
            formats.board(4.0, 6.0),
        )
        dojo = load(formats.write_dojo(tmp_path / "dojo", name, **boards))
        assert (ours.metric, dojo.metric) == ("mse", "mae")

    def test_an_oddly_named_sample_submission_is_found(self, tmp_path: Path) -> None:
        files = {
            "data_resplit__titanic__sample_submission_csv": "",
            "data_resplit__titanic__solution_csv": "id,target\n10,0\n",
        }
        task = load(formats.write_dsbench(tmp_path, "titanic", **files))
        assert "`solution.csv` begins" in task.overview()

    def test_scores_that_contradict_the_direction_are_an_error(self, tmp_path: Path) -> None:
        folder = formats.write_dsbench(tmp_path, "titanic")
        with pytest.raises(TaskFormatError, match=r"reference 1\.0 and baseline .* contradict"):
            load(folder, metric="rmse")


class TestMetrics:
    """The metric: from the registry, by name, or the user's own."""

    def test_an_unknown_task_needs_one(self, tmp_path: Path) -> None:
        with pytest.raises(TaskFormatError, match="task 'toy' needs metric=…, as it is unknown"):
            load(formats.write_dojo(tmp_path))

    def test_a_task_whose_metric_we_lack_needs_one(self, tmp_path: Path) -> None:
        folder = formats.write_dojo(tmp_path, "kuzushiji-recognition")
        with pytest.raises(TaskFormatError, match=r"its metric \(F1 binary/custom\) is not in"):
            load(folder)

    def test_a_function_with_a_direction_will_do(self, tmp_path: Path) -> None:
        folder = formats.write_dojo(tmp_path)
        task = load(folder, metric=share, higher_is_better=True, kind="label")
        grade = task.grade(SIX_OF_EIGHT, "all")
        assert (task.metric, grade.score, grade.position) == ("share", 0.75, 0.625)
        assert pickle.loads(pickle.dumps(task)).grade(SIX_OF_EIGHT, "all") == grade

    def test_a_function_without_a_direction_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="needs higher_is_better"):
            load(formats.write_dojo(tmp_path), metric=share)

    def test_a_name_with_another_direction_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="higher_is_better=False contradicts metric 'auc'"):
            load(formats.write_dojo(tmp_path), metric="auc", higher_is_better=False)

    def test_a_metric_undefined_on_a_half_is_graded_whole(self, tmp_path: Path) -> None:
        one = formats.csv_text("id,target", ((i, int(i == 10)) for i in formats.IDS))
        folder = formats.write_dojo(tmp_path, data__private__test_answer_csv=one)
        with pytest.warns(UserWarning, match="undefined on the .* every half is all"):
            task = load(folder, metric="auc")
        assert task.grade(one.encode()).score == task.grade(one.encode(), "feedback").score == 1.0

    def test_missing_weights_are_told(self, tmp_path: Path) -> None:
        name = "walmart-recruiting-store-sales-forecasting"
        weights = ((i, 0, i == 10) for i in formats.IDS)
        boards = dict.fromkeys(
            ("data__private__public_leaderboard_csv", "data__private__private_leaderboard_csv"),
            formats.board(1.0, 3.0),
        )
        answers = formats.csv_text("id,target,IsHoliday", weights)
        weighted = load(
            formats.write_dojo(
                tmp_path / "w", name, data__private__test_answer_csv=answers, **boards
            )
        )
        off = formats.csv_text("id,target", ((i, 8 * (i == 10)) for i in formats.IDS)).encode()
        assert weighted.grade(off, "all").score == pytest.approx(8 * 5 / 12)
        with pytest.warns(UserWarning, match="hold no weights"):
            plain = load(formats.write_dojo(tmp_path / "p", name, **boards))
        assert plain.metric == "wmae"


def share(truth: np.ndarray, labels: np.ndarray) -> float:
    """Share of right labels."""
    return float(np.mean(truth == labels))


class TestColumns:
    """Which columns of a submission go with which of the answers."""

    @pytest.mark.parametrize(
        ("header", "answers"),
        [
            ("id,red,blue", [(10, "red"), (11, "blue"), (12, "red"), (13, "red")]),
            ("id,class_red,class_blue", [(10, "red"), (11, "blue"), (12, "red"), (13, "red")]),
            ("id,red,blue,green", [(10, "red"), (11, "blue"), (12, "red"), (13, "red")]),
        ],
    )
    def test_a_label_stands_for_its_column(
        self, tmp_path: Path, header: str, answers: list[tuple[int, str]]
    ) -> None:
        task = self._load(tmp_path, header, formats.csv_text("id,colour", answers))
        rows = [(i, c == "red", c == "blue", *[0] * (header.count(",") - 2)) for i, c in answers]
        perfect = formats.csv_text(header, ((int(cell) for cell in row) for row in rows))
        assert task.grade(perfect.encode(), "all").score == pytest.approx(0.0, abs=1e-12)

    def test_one_column_a_class_in_the_answers_too(self, tmp_path: Path) -> None:
        rows = [(i, int(i % 2 == 0), i % 2) for i in range(10, 18)]
        answers = formats.csv_text("id,red,blue", rows)
        task = self._load(tmp_path, "id,red,blue", answers)
        turned = formats.csv_text("id,blue,red", ((i, b, r) for i, r, b in rows))
        assert task.grade(turned.encode(), "all").score == pytest.approx(0.0, abs=1e-12)
        assert task.category == "binary"

    @pytest.mark.parametrize(
        ("header", "answers", "message"),
        [
            ("id,red,blue", "id,colour\n10,red\n11,green\n", "label 'green' .* has no column"),
            ("key,red,blue", "id,red,blue\n10,1,0\n", "column 'key': the id of the sample"),
            ("id", "id,red,blue\n10,1,0\n", "no column beside the id"),
            ("id,red,green", "id,red,blue\n10,1,0\n", r"lack columns .*: \['green'\]"),
            ("id,red", "id,red\n10,1\n", "takes one column for each class beside the id"),
            ("id,red,red", "id,red\n10,1\n", r"sample_submission.csv: column 'red'.* twice"),
            ("id,red,blue", "id,red,blue\n10,1,0\n11,1,1\n", "row 2: not exactly one class is 1"),
            ("id,red,blue", "id,red,blue\n10,1,0\n10,0,1\n", "row 2: id '10' occurs twice"),
        ],
    )
    def test_columns_that_do_not_match_are_named(
        self, tmp_path: Path, header: str, answers: str, message: str
    ) -> None:
        with pytest.raises(TaskFormatError, match=message):
            self._load(tmp_path, header, answers)

    def test_labels_stand_in_one_column(self, tmp_path: Path) -> None:
        folder = formats.write_dojo(tmp_path, data__public__sample_submission_csv="id,a,b\n")
        with pytest.raises(TaskFormatError, match="'accuracy' takes one column beside the id"):
            load(folder, metric="accuracy")

    def test_labels_that_may_be_the_answers_are_told_to_nobody(self, tmp_path: Path) -> None:
        answers = formats.csv_text("id,last", ((i, f"{7 * i}") for i in range(100)))
        header = "id,last\n"
        folder = formats.write_dojo(
            tmp_path,
            data__public__sample_submission_csv=header,
            data__private__test_answer_csv=answers,
        )
        task = load(folder, metric="accuracy")
        wrong = formats.csv_text("id,last", ((i, "x") for i in range(100)))
        message = task.grade(wrong.encode()).message
        assert task.spec.classes == ()
        assert "693" not in task.overview() + message

    def _load(self, folder: Path, header: str, answers: str) -> PreparedTask:
        boards = dict.fromkeys(
            ("data__private__public_leaderboard_csv", "data__private__private_leaderboard_csv"),
            formats.board(0.1, 2.0),
        )
        path = formats.write_dojo(
            folder,
            data__public__sample_submission_csv=header + "\n",
            data__private__test_answer_csv=answers,
            **boards,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*every half is all of the answers")
            return load(path, metric="mlogloss")


class TestCopies:
    """A task is a handle."""

    def test_a_copy_is_the_task_and_a_pickle_opens_it_again(self, tmp_path: Path) -> None:
        task = load(formats.write_dojo(tmp_path), metric="accuracy", time_limit=30.0)
        assert copy.deepcopy([task])[0] is task
        again = pickle.loads(pickle.dumps(task))
        assert again.grade(SIX_OF_EIGHT) == task.grade(SIX_OF_EIGHT)
        assert again.time_limit == 30.0

    def test_opening_copies_nothing(self, tmp_path: Path) -> None:
        folder = formats.write_dojo(tmp_path)
        before = sorted(tmp_path.rglob("*"))
        task = load(folder, metric="accuracy")
        task.check()
        assert task.grade(SIX_OF_EIGHT).status is GradeStatus.VALID
        assert task.mounts == {str(folder / "data" / "public"): "/data"}
        assert sorted(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"modality": "sound"}, "modality must be one of tabular, text, image, got 'sound'"),
            ({"time_limit": 0}, "time_limit must be a positive number of seconds, got 0"),
            ({"metric": "f7"}, "metric must be one of .*, got 'f7'"),
        ],
    )
    def test_impossible_options_are_named(
        self, tmp_path: Path, options: dict[str, object], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            load(formats.write_dojo(tmp_path), **{"metric": "accuracy", **options})


def test_the_tasks_below_a_root_are_found(tmp_path: Path) -> None:
    formats.write_dojo(tmp_path / "mixed", "a")
    formats.write_bench(tmp_path / "mixed", "b")
    testing_tasks.write_task(tmp_path / "mixed" / "c")
    (tmp_path / "mixed" / "none").mkdir()
    for name in ("x", "y"):
        formats.write_dsbench(tmp_path / "ds", name)
    assert [path.name for path in find_tasks(tmp_path / "mixed")] == ["a", "b", "c"]
    assert [path.name for path in find_tasks(tmp_path / "ds")] == ["x", "y"]
