"""A task folder: opening, prompts, grading, copies, and faults of the format."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import testing_tasks
from PIL import Image
from testing_tasks import make_task, rows, toml, write_task

from wmrl_envs.autoresearch.grading import GradeStatus
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import TaskFormatError


class TestOpening:
    """What a task says of itself."""

    def test_the_attributes_are_those_of_task_toml(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy")
        assert (task.name, task.split, task.modality) == ("toy", "none", "tabular")
        assert (task.category, task.metric, task.time_limit) == ("binary", "accuracy", 10.0)
        assert (task.id_column, task.target_columns) == ("id", ("target",))
        assert task.public_dir == tmp_path / "toy" / "public"

    def test_class_metrics_take_a_column_for_each_class(self, tmp_path: Path) -> None:
        answers = "id,target\n" + rows("red")
        task = make_task(tmp_path / "toy", "mlogloss", answers=answers)
        assert task.target_columns == ("target",)
        assert task.prediction_columns == ("red", "green", "blue")

    def test_opening_reads_neither_data_nor_answers(self, tmp_path: Path) -> None:
        make_task(tmp_path / "toy", train="", test="", answers="", leaderboard="")

    def test_opening_loads_no_heavy_library(self, tmp_path: Path) -> None:
        write_task(tmp_path / "toy")
        program = (
            "import sys; from wmrl_envs.autoresearch.task import Task; "
            f"Task.from_folder({str(tmp_path / 'toy')!r}); "
            "print([name for name in ('pandas', 'sklearn', 'torch') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.stdout.strip() == "[]", done.stderr

    def test_a_copy_of_a_task_is_the_task(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy")
        assert copy.copy(task) is task
        assert copy.deepcopy({"tasks": [task]})["tasks"][0] is task

    def test_a_pickled_task_opens_the_same_folder(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy")
        task.grade(None)
        assert pickle.loads(pickle.dumps(task)).folder == task.folder


class TestSuffixes:
    """Data and answers need not be CSV files."""

    @pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv.gz", "csv.zip"])
    def test_a_folder_of_other_tables_is_the_same_task(self, tmp_path: Path, suffix: str) -> None:
        plain = make_task(tmp_path / "plain")
        folder = write_task(tmp_path / "other")
        for part, name in (("public", "train"), ("public", "test"), ("private", "answers")):
            path = folder / part / f"{name}.csv"
            write = {"parquet": "to_parquet", "jsonl": "to_json"}.get(suffix, "to_csv")
            options = {"orient": "records", "lines": True} if suffix == "jsonl" else {}
            frame = pd.read_csv(path)
            getattr(frame, write)(path.with_suffix(f".{suffix}"), **options or {"index": False})
            path.unlink()
        other = Task.from_folder(folder)
        other.check()
        submission = ("id,target\n" + rows(0)).encode()
        assert other.card() == plain.card()
        assert other.grade(submission) == plain.grade(submission)

    def test_a_folder_of_images_will_do(self, tmp_path: Path) -> None:
        folder = write_task(tmp_path / "toy", toml=toml("accuracy", modality='"image"'))
        for part in ("train", "test"):
            (folder / "public" / part).mkdir()
            for number in range(9):
                Image.new("L", (4, 3)).save(folder / "public" / part / f"{number}.png")
        card = Task.from_folder(folder).card()
        assert card.splitlines()[1] == "rows 9 num 12 cat 0 missing no scale even"


class TestPrompts:
    """The card of small models and the overview of real ones."""

    def test_the_card_describes_a_table_in_three_lines(self, tmp_path: Path) -> None:
        assert make_task(tmp_path / "toy").card() == (
            "tabular binary accuracy\n"
            "rows 3 num 1 cat 1 missing yes scale even\n"
            "outputs 1 kind label names target\n"
        )

    def test_the_scale_is_mixed_beyond_a_ratio_of_twenty(self, tmp_path: Path) -> None:
        train = "id,a,b,c,target\n1,0,0,7,0\n2,1,{b},7,1\n"
        even = make_task(tmp_path / "even", train=train.format(b=20))
        mixed = make_task(tmp_path / "mixed", train=train.format(b=21))
        assert "scale even" in even.card()
        assert "scale mixed" in mixed.card()

    def test_the_card_of_class_columns_names_the_first_and_the_last(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy", "map3", answers="id,target\n" + rows("red"))
        assert task.card().endswith("outputs 3 kind probability names red..blue\n")

    def test_the_card_of_images_counts_pixels(self, tmp_path: Path) -> None:
        folder = write_task(tmp_path / "toy", toml=toml("accuracy", modality='"image"'))
        for part in ("train", "test"):
            np.savez(folder / "public" / f"{part}.npz", id=np.arange(5), image=np.zeros((5, 4, 8)))
        card = Task.from_folder(folder).card()
        assert card.splitlines()[1] == "rows 5 num 32 cat 0 missing no scale even"
        assert "`train.npz`: arrays id (5,) int64, image (5, 4, 8)" in (
            Task.from_folder(folder).overview()
        )

    def test_the_overview_holds_description_inventory_and_contract(self, tmp_path: Path) -> None:
        overview = make_task(tmp_path / "toy").overview()
        assert overview.startswith("# Toy\n\nA toy task.\n")
        assert "`train.csv`: 3 rows x 4 columns: id integer, size number (1 missing)" in overview
        assert "colour text (2 different, such as 'red')" in overview
        assert "Columns: id, target." in overview
        assert "Values are labels: 0, 1." in overview
        assert "accuracy, higher is better" in overview
        assert "id,target\n10,0\n" in overview

    def test_neither_prompt_tells_where_the_task_lies(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy")
        assert str(tmp_path) not in task.overview() + task.card()


class TestGrading:
    """Grading through the task."""

    def test_the_score_has_a_position_on_the_board(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy")
        grade = task.grade(("id,target\n" + rows(0)).encode(), "all")
        assert (grade.status, grade.score, grade.position) == (GradeStatus.VALID, 0.5, 0.25)

    def test_two_boards_are_averaged(self, tmp_path: Path) -> None:
        board = "rank,score\n1,0.4\n2,0.3\n"
        task = make_task(tmp_path / "toy", leaderboard_public=board)
        assert task.grade(("id,target\n" + rows(0)).encode(), "all").position == (0.25 + 1.0) / 2

    def test_a_constant_board_beside_a_good_one_is_not_counted(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy", leaderboard_public="rank,score\n1,0.0\n2,0.0\n")
        with pytest.warns(UserWarning, match="all scores are equal"):
            grade = task.grade(("id,target\n" + rows(0)).encode(), "all")
        assert grade.position == 0.25

    def test_the_feedback_half_is_not_the_score_half(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy", "rmse", **REGRESSION)
        data = ("id,target\n" + rows(0)).encode()
        scores = {half: task.grade(data, half).score for half in ("score", "feedback")}
        assert scores["score"] != scores["feedback"]

    def test_a_task_that_is_fine_passes_its_check(self, tmp_path: Path) -> None:
        make_task(tmp_path / "toy").check()

    def test_a_sample_submission_that_is_not_valid_fails_the_check(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy", sample_submission="id,target\n10,0\n")
        with pytest.raises(TaskFormatError, match="7 ids are missing"):
            task.check()


REGRESSION = {
    "answers": "id,target\n" + "".join(f"{i},{i * i}\n" for i in range(10, 18)),
    "leaderboard": "rank,score\n1,1\n2,9\n",
}
BAD_TOML = [
    ({"name": ""}, "key 'name' must be a text that is not empty, got None"),
    ({"split": '"dev"'}, "key 'split' must be one of train, test, none, got 'dev'"),
    ({"modality": "3"}, "key 'modality' must be one of tabular, text, image, got 3"),
    ({"metric": '"f7"'}, "key 'metric' must be one of .*, got 'f7'"),
    ({"time_limit": "0"}, "key 'time_limit' must be a positive number of seconds, got 0"),
    ({"time_limit": "true"}, "key 'time_limit' must be a positive number of seconds, got True"),
    ({"target_columns": "[]"}, "key 'target_columns' must be a list of texts"),
    ({"target_columns": '["target", "id"]'}, "id_column 'id' must not be a target too"),
    ({"target_columns": '["a", "b"]'}, "metric 'accuracy' takes one target, got"),
    ({"classes": ""}, "key 'classes' must list at least two labels for metric 'accuracy'"),
    ({"classes": '["1", "1.0"]'}, "key 'classes' must not repeat an entry"),
    ({"metric": '"auc"', "classes": '["a", "b", "c"]'}, "must list two labels for metric 'auc'"),
    ({"metric": '"rmse"'}, "key 'classes' has no meaning for metric 'rmse'"),
    ({"name": "= ="}, "task.toml"),
]
BAD_FILES = [
    ({"answers": "id,label\n1,0\n"}, r"answers.csv: column 'target': there is none"),
    ({"answers": "id,target\n1,0\n1,1\n"}, r"column 'id', row 2: id '1' occurs twice"),
    ({"answers": "id,target\n1,0\n2,7\n"}, r"column 'target', row 2: '7' is no class of the task"),
    ({"answers": "id,target\n1,0\n2\n"}, r"answers.csv: row 2: 1 fields, the header has 2"),
    ({"answers": ""}, r"answers.csv: the file is empty"),
    ({"leaderboard": "rank,score\n1,x\n"}, r"leaderboard.csv: column 'score', row 1: 'x'"),
    ({"leaderboard": "rank,score\n1,0.1\n2,0.9\n"}, r"must be ordered best first"),
]


class TestFaults:
    """A fault of the folder is named with file, column and row."""

    @pytest.mark.parametrize(("changes", "message"), BAD_TOML)
    def test_a_wrong_key_is_named(
        self, tmp_path: Path, changes: dict[str, str], message: str
    ) -> None:
        with pytest.raises(TaskFormatError, match=message):
            make_task(tmp_path / "toy", toml=toml("accuracy", **changes))

    @pytest.mark.parametrize(
        "name",
        [
            "task.toml",
            "public/train.csv",
            "public/description.md",
            "public/sample_submission.csv",
            "private/answers.csv",
            "private/leaderboard.csv",
        ],
    )
    def test_a_missing_file_is_named(self, tmp_path: Path, name: str) -> None:
        (write_task(tmp_path / "toy") / name).unlink()
        with pytest.raises(TaskFormatError, match=Path(name).name):
            Task.from_folder(tmp_path / "toy")

    @pytest.mark.parametrize(("files", "message"), BAD_FILES)
    def test_a_fault_in_a_private_file_is_raised_when_it_is_used(
        self, tmp_path: Path, files: dict[str, str], message: str
    ) -> None:
        task = make_task(tmp_path / "toy", **files)
        with pytest.raises(TaskFormatError, match=message):
            task.grade(b"")

    def test_a_task_whose_only_board_is_constant_cannot_grade(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy", leaderboard="rank,score\n1,0.5\n2,0.5\n")
        with (
            pytest.warns(UserWarning, match="all scores are equal"),
            pytest.raises(TaskFormatError, match="no leaderboard that is not constant"),
        ):
            task.grade(b"")

    def test_answers_on_which_the_metric_is_undefined_are_refused(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy", "auc", answers="id,target\n" + testing_tasks.rows(1))
        with pytest.raises(TaskFormatError, match="metric 'auc' is undefined on the .* half"):
            task.grade(b"")

    def test_training_data_that_are_no_csv_are_named(self, tmp_path: Path) -> None:
        task = make_task(tmp_path / "toy", train="")
        with pytest.raises(TaskFormatError, match=r"train\.csv"):
            task.card()
