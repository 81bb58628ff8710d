"""The bundled tasks and their cache."""

import hashlib
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import testing_tasks

from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.grading import GradeStatus
from wmrl_envs.autoresearch.leaderboard import Leaderboard
from wmrl_envs.autoresearch.leaks import find_leaks
from wmrl_envs.autoresearch.metrics import get_metric
from wmrl_envs.autoresearch.standing import noise_of
from wmrl_envs.autoresearch.table import read_table
from wmrl_envs.autoresearch.task import Task

DATA = Path(catalog.__file__).parent / "data"
ALL = catalog.names()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the tests of this module share."""
    return tmp_path_factory.mktemp("cache")


class TestNames:
    """Names and splits."""

    def test_there_are_seventeen_training_and_fourteen_held_out_tasks(self) -> None:
        assert (len(catalog.names("train")), len(catalog.names("test"))) == (17, 14)
        assert set(ALL) == {*catalog.names("train"), *catalog.names("test")}

    def test_an_unknown_split_is_named(self) -> None:
        with pytest.raises(ValueError, match="split must be one of train, test, all or None"):
            catalog.names("dev")


class TestResolve:
    """What a user may write for tasks."""

    def test_a_split_a_name_a_task_and_a_mixture_resolve(self, cache: Path) -> None:
        titanic = catalog.load("titanic", cache_dir=cache)
        assert len(catalog.resolve("train", cache_dir=cache)) == 17
        assert len(catalog.resolve("all", cache_dir=cache)) == 31
        assert catalog.resolve("titanic", cache_dir=cache)[0].folder == titanic.folder
        assert catalog.resolve(titanic) == (titanic,)
        mixed = catalog.resolve((name for name in [titanic, "digits"]), cache_dir=cache)
        assert [task.name for task in mixed] == ["titanic", "digits"]

    def test_a_mixture_may_hold_a_split(self, cache: Path) -> None:
        name = catalog.names("train")[-1]
        tasks = catalog.resolve([name, "test"], cache_dir=cache)
        assert tuple(task.name for task in tasks) == (name, *catalog.names("test"))
        with pytest.raises(ValueError, match="must not repeat a task"):
            catalog.resolve([name, "train"], cache_dir=cache)

    def test_an_unknown_name_gets_suggestions(self, cache: Path) -> None:
        with pytest.raises(ValueError, match=r"unknown task 'titanc'; similar names are 'titanic'"):
            catalog.resolve("titanc", cache_dir=cache)

    def test_a_name_like_no_other_gets_the_list(self, cache: Path) -> None:
        with pytest.raises(ValueError, match=r"unknown task '§'; splits are .* ames-price"):
            catalog.resolve(["digits", "§"], cache_dir=cache)

    @pytest.mark.parametrize("spec", [None, 3, b"train", [3], [None]])
    def test_other_types_are_refused(self, cache: Path, spec: object) -> None:
        with pytest.raises(TypeError, match="tasks must"):
            catalog.resolve(spec, cache_dir=cache)  # type: ignore[arg-type]

    def test_no_tasks_are_refused(self) -> None:
        with pytest.raises(ValueError, match="at least one task, got none"):
            catalog.resolve([])

    def test_a_repeated_task_is_refused(self, cache: Path) -> None:
        with pytest.raises(ValueError, match="must not repeat a task, got 'digits' 2 times"):
            catalog.resolve(["digits", "digits"], cache_dir=cache)


class TestCache:
    """Laying tasks out once, atomically."""

    def test_the_second_load_leaves_the_files_as_they_are(self, tmp_path: Path) -> None:
        first = catalog.load("diabetes", cache_dir=tmp_path)
        before = (first.public_dir / "train.csv").stat()
        second = catalog.load("diabetes", cache_dir=tmp_path)
        assert second.folder == first.folder
        assert (second.public_dir / "train.csv").stat() == before

    def test_programs_find_plain_files(self, cache: Path) -> None:
        table = catalog.load("diabetes", cache_dir=cache)
        image = catalog.load("digits", cache_dir=cache)
        assert {path.name for path in table.public_dir.iterdir()} == {
            "description.md", "sample_submission.csv", "test.csv", "train.csv",
        }  # fmt: skip
        assert {path.name for path in image.public_dir.iterdir()} == {
            "description.md", "sample_submission.csv", "test.npz", "train.npz", "train_labels.csv",
        }  # fmt: skip

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
    def test_the_answers_are_for_their_owner_alone(self, tmp_path: Path) -> None:
        folder = catalog.load("diabetes", cache_dir=tmp_path).folder
        assert stat.S_IMODE((folder / "private").stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "private" / "answers.csv").stat().st_mode) == 0o600
        assert stat.S_IMODE((folder / "public" / "train.csv").stat().st_mode) == 0o644

    @pytest.mark.parametrize("damage", ["truncate", "delete", "manifest"])
    def test_a_damaged_folder_is_built_anew(self, tmp_path: Path, damage: str) -> None:
        task = catalog.load("diabetes", cache_dir=tmp_path)
        train = task.public_dir / "train.csv"
        text = train.read_bytes()
        if damage == "truncate":
            train.write_bytes(text[:100])
        elif damage == "delete":
            train.unlink()
        else:
            (task.folder / "manifest.json").write_text("{")
        again = catalog.load("diabetes", cache_dir=tmp_path)
        assert (again.public_dir / "train.csv").read_bytes() == text
        assert catalog.verify("diabetes", cache_dir=tmp_path)

    def test_a_changed_byte_is_found_by_verify(self, tmp_path: Path) -> None:
        train = catalog.load("diabetes", cache_dir=tmp_path).public_dir / "train.csv"
        train.write_bytes(train.read_bytes().replace(b"1", b"2", 1))
        assert not catalog.verify("diabetes", cache_dir=tmp_path)

    def test_nothing_but_tasks_stays_in_the_cache(self, tmp_path: Path) -> None:
        catalog.load("diabetes", cache_dir=tmp_path)
        (folder,) = (tmp_path / "tasks").iterdir()
        assert re.fullmatch("diabetes-[0-9a-f]{16}", folder.name)

    def test_processes_that_build_at_once_all_get_the_task(self, tmp_path: Path) -> None:
        program = (
            "import sys; from wmrl_envs.autoresearch import catalog; "
            "print(catalog.load('titanic', cache_dir=sys.argv[1]).name)"
        )
        command = [sys.executable, "-c", program, str(tmp_path)]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        assert {child.communicate()[0].strip() for child in running} == {"titanic"}
        assert len(list((tmp_path / "tasks").iterdir())) == 1

    def test_a_cache_that_cannot_be_written_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(OSError, match="file"):
            catalog.load("diabetes", cache_dir=tmp_path / "file")


class TestBundledTasks:
    """Every task that ships."""

    @pytest.mark.parametrize("name", ALL)
    def test_a_task_is_sound(self, cache: Path, name: str) -> None:
        task = catalog.load(name, cache_dir=cache)
        task.check()
        assert task.name == name
        assert 10 <= task.time_limit <= 20
        assert task.spec.licence and task.spec.source

    @pytest.mark.parametrize("name", ALL)
    def test_a_task_gives_no_answers_away(self, cache: Path, name: str) -> None:
        assert find_leaks(catalog.load(name, cache_dir=cache)) == ()

    @pytest.mark.parametrize("name", ALL)
    def test_the_sample_is_one_trivial_answer_for_every_row(self, cache: Path, name: str) -> None:
        task = catalog.load(name, cache_dir=cache)
        sample = (task.public_dir / "sample_submission.csv").read_bytes()
        columns = read_table(sample).columns
        assert tuple(columns) == (task.id_column, *task.prediction_columns)
        assert all(len(set(columns[name])) == 1 for name in task.prediction_columns)
        grade = task.grade(sample)
        assert grade.position is not None and grade.position < 0.03

    @pytest.mark.parametrize("name", ALL)
    def test_the_true_answers_are_the_best_submission(self, cache: Path, name: str) -> None:
        task = catalog.load(name, cache_dir=cache)
        answers = (task.folder / "private" / "answers.csv").read_bytes()
        for half in ("score", "feedback"):
            grade = task.grade(_as_submission(task, answers), half)
            assert (grade.status, grade.position) == (GradeStatus.VALID, 1.0)

    @pytest.mark.parametrize("name", ALL)
    def test_the_description_was_written_for_the_task(self, cache: Path, name: str) -> None:
        task = catalog.load(name, cache_dir=cache)
        text = " ".join((task.public_dir / "description.md").read_text().split())
        parts = ("## Goal", "## Evaluation", "## Files", "## Submission")
        assert all(part in text for part in parts)
        direction = "higher" if get_metric(task.metric).higher_is_better else "lower"
        assert f"({direction} is better)" in text
        for path in task.public_dir.iterdir():
            assert path.name == "description.md" or f"`{path.name}`" in text
        n_test = read_table((task.public_dir / "sample_submission.csv").read_bytes()).rows
        assert f"with {n_test} rows" in text

    @pytest.mark.parametrize("split", ["train", "test"])
    def test_a_split_has_every_kind_of_task_for_every_modality(
        self, cache: Path, split: str
    ) -> None:
        tasks = catalog.resolve(split, cache_dir=cache)
        cells = {(task.modality, task.category) for task in tasks}
        kinds = ("binary", "multiclass", "regression", "other")
        modalities = ("tabular", "text", "image")
        assert cells == {(modality, kind) for modality in modalities for kind in kinds}

    def test_no_source_is_shared_between_the_splits(self, cache: Path) -> None:
        sources = {
            split: {task.spec.source for task in catalog.resolve(split, cache_dir=cache)}
            for split in ("train", "test")
        }
        assert sources["train"].isdisjoint(sources["test"])

    @pytest.mark.parametrize("name", ALL)
    def test_the_board_ends_with_the_trivial_answer(self, cache: Path, name: str) -> None:
        task = catalog.load(name, cache_dir=cache)
        (board,) = task.boards
        assert isinstance(board, Leaderboard)
        sample = task.grade((task.public_dir / "sample_submission.csv").read_bytes())
        assert board.scores[-1] == pytest.approx(sample.score, rel=1e-5)
        assert len(board.scores) >= 80
        table = read_table((task.folder / "private" / "leaderboard.csv").read_bytes())
        assert len(set(table.columns["name"])) == table.rows
        assert table.columns["name"][-1] == "constant answer"

    @pytest.mark.parametrize("name", ALL)
    def test_the_board_says_how_noisy_it_is(self, cache: Path, name: str) -> None:
        task = catalog.load(name, cache_dir=cache)
        (board,) = task.boards
        noise = noise_of(task)
        assert noise is not None and isinstance(board, Leaderboard)
        low, high = np.quantile(board.scores, [0.25, 0.75])
        assert noise.spread == pytest.approx(high - low, rel=0.01)
        assert noise.standard_error > 0 and 0 < noise.position_error < 0.5

    def test_a_task_without_training_labels_says_so(self, cache: Path) -> None:
        task = catalog.load("mnist-novelty", cache_dir=cache)
        assert not (task.public_dir / "train_labels.csv").exists()
        assert "no training labels" in task.overview()


class TestSources:
    """SOURCES.md tells the origin of every shipped file."""

    def test_every_task_has_a_section_with_origin_and_licence(self) -> None:
        sections = re.split(r"^## ", (DATA / "SOURCES.md").read_text(), flags=re.MULTILINE)
        found = {section.partition("\n")[0]: " ".join(section.split()) for section in sections}
        for name in ALL:
            licence = re.search('^licence = "(.*)"$', (DATA / name / "task.toml").read_text(), re.M)
            assert "- Origin: " in found[name]
            assert licence is not None and f"- Licence: {licence[1]}" in found[name]

    def test_every_file_has_the_hash_that_is_written_there(self) -> None:
        lines = re.findall(r"^([0-9a-f]{64})  (\S+)$", (DATA / "SOURCES.md").read_text(), re.M)
        written = {name: digest for digest, name in lines}
        files = [path for path in DATA.rglob("*") if path.is_file() and path.parent != DATA]
        assert written == {
            path.relative_to(DATA).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        }

    def test_the_data_stay_small(self) -> None:
        assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 5_000_000


class TestLeakScan:
    """The scanner finds what it looks for."""

    def test_a_clean_task_has_no_leaks(self, tmp_path: Path) -> None:
        assert find_leaks(testing_tasks.make_task(tmp_path / "toy")) == ()

    def test_a_copy_of_the_answers_is_found(self, tmp_path: Path) -> None:
        task = testing_tasks.make_task(tmp_path / "toy", notes=testing_tasks.ANSWERS)
        assert "notes.csv in public/ is a copy of a private file" in find_leaks(task)

    def test_a_column_that_is_a_multiple_of_the_answers_is_found(self, tmp_path: Path) -> None:
        ids = range(100)
        task = testing_tasks.make_task(
            tmp_path / "toy",
            "rmse",
            test="id,euros\n" + "".join(f"{i},{i * 37 % 101 * 1.96 + 1}\n" for i in ids),
            answers="id,target\n" + "".join(f"{i},{i * 37 % 101}\n" for i in ids),
            sample_submission="id,target\n" + "".join(f"{i},0\n" for i in ids),
        )
        assert "column 'euros' of test.csv tells 'target'" in find_leaks(task)

    def test_a_file_named_like_the_answers_is_found(self, tmp_path: Path) -> None:
        task = testing_tasks.make_task(tmp_path / "toy", solution="a\n")
        assert find_leaks(task) == ("solution.csv in public/ is named like a private file",)

    def test_a_link_out_of_the_folder_is_found(self, tmp_path: Path) -> None:
        task = testing_tasks.make_task(tmp_path / "toy")
        (task.public_dir / "more").symlink_to(task.folder / "private")
        assert find_leaks(task) == ("more in public/ leads out of the folder",)

    def test_true_labels_in_the_sample_submission_are_found(self, tmp_path: Path) -> None:
        sample = testing_tasks.ANSWERS.replace("id,target", "target,id")
        lines = [",".join(reversed(line.split(","))) for line in sample.splitlines()[1:]]
        task = testing_tasks.make_task(
            tmp_path / "toy", sample_submission="\n".join(["target,id", *lines])
        )
        assert find_leaks(task) == ("column 'target' of sample_submission.csv tells 'target'",)

    def test_a_column_that_goes_one_to_one_with_the_answers_is_found(self, tmp_path: Path) -> None:
        truth = dict(line.split(",") for line in testing_tasks.ANSWERS.splitlines()[1:])
        test = "id,code\n" + "".join(f"{i},{'AB'[int(t)]}\n" for i, t in truth.items())
        task = testing_tasks.make_task(tmp_path / "toy", test=test)
        assert find_leaks(task) == ("column 'code' of test.csv tells 'target'",)

    def test_a_target_column_in_the_test_file_is_found(self, tmp_path: Path) -> None:
        test = "id,target\n" + testing_tasks.rows(0)
        leaks = find_leaks(testing_tasks.make_task(tmp_path / "toy", test=test))
        assert "test.csv holds the target column 'target'" in leaks

    @pytest.mark.parametrize("metric", ["accuracy", "rmse"])
    def test_sorted_rows_are_found(self, tmp_path: Path, metric: str) -> None:
        ids = range(100)
        task = testing_tasks.make_task(
            tmp_path / "toy",
            metric,
            test="id,size\n" + "".join(f"{i},{i * 37 % 101}\n" for i in ids),
            answers="id,target\n" + "".join(f"{i},{i // 50}\n" for i in ids),
            sample_submission="id,target\n" + "".join(f"{i},0\n" for i in ids),
        )
        leaks = find_leaks(task)
        assert len(leaks) == 2
        assert leaks[0].startswith("the row order of the test file tells the target")
        assert leaks[1].startswith("the order of the ids tells the target")

    def test_test_rows_that_repeat_training_rows_are_found(self, tmp_path: Path) -> None:
        train = "id,size,colour,target\n" + "".join(f"{i},{i}.5,red,0\n" for i in range(10, 14))
        task = testing_tasks.make_task(tmp_path / "toy", train=train)
        assert find_leaks(task) == ("50% of the test rows repeat a training row",)


def _as_submission(task: Task, answers: bytes) -> bytes:
    """The true answers in the form of a submission: an indicator for each class where asked for."""
    if get_metric(task.metric).columns == "target":
        return answers
    table = read_table(answers).columns
    pairs = zip(table[task.id_column], table[task.target_columns[0]], strict=True)
    quoted = [f'"{name}"' for name in task.prediction_columns]
    lines = [",".join([task.id_column, *quoted])]
    for row, label in pairs:
        lines.append(",".join([row, *(str(int(label == c)) for c in task.prediction_columns)]))
    return "\n".join(lines).encode()
