"""The scripts that make the bundled tasks: rows, leaderboards, hashes."""

import gzip
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.toml import read_toml

ROOT = Path(__file__).parents[2]
DATA = Path(catalog.__file__).parent / "data"
FROM_SKLEARN = ["breast-cancer", "diabetes", "digits", "digits-parity", "digit-sum"]


@pytest.fixture(scope="module", autouse=True)
def tools() -> Iterator[None]:
    """The scripts are no package of the distribution."""
    sys.path.insert(0, str(ROOT / "tools"))
    yield
    sys.path.remove(str(ROOT / "tools"))


def recipes() -> dict[str, Any]:
    from task_data.recipes_images import IMAGES
    from task_data.recipes_tables import TABLES
    from task_data.recipes_texts import TEXTS

    return {**TABLES, **TEXTS, **IMAGES}


def test_every_bundled_task_has_a_recipe() -> None:
    assert set(recipes()) == set(catalog.names())


@pytest.mark.parametrize("name", FROM_SKLEARN)
def test_a_recipe_makes_the_frozen_rows(name: str) -> None:
    from task_data.rows import differences

    assert differences(recipes()[name](), DATA / name) == []


def test_written_rows_are_the_same_and_a_changed_one_is_found(tmp_path: Path) -> None:
    from task_data.rows import differences, write_rows

    rows = recipes()["diabetes"]()
    write_rows(rows, tmp_path)
    assert differences(rows, tmp_path) == []
    text = gzip.decompress((tmp_path / "answers.csv.gz").read_bytes())
    (tmp_path / "answers.csv.gz").write_bytes(gzip.compress(text.replace(b"1", b"2", 1)))
    assert differences(rows, tmp_path) == ["answers.csv.gz"]


def test_rows_are_shuffled_before_they_are_numbered() -> None:
    from task_data.rows import Rows

    values = np.arange(50.0)
    rows = Rows(list(map(str, values)), values, list(map(str, values)), values)
    shuffled = rows.shuffled()
    assert shuffled.target is not None and list(shuffled.target) != list(values)
    assert list(map(float, shuffled.train)) == list(shuffled.target)
    assert list(map(float, shuffled.test)) == list(shuffled.answers)


def test_a_package_that_is_missing_is_named_with_the_remedy() -> None:
    from task_data.packages import folder

    with pytest.raises(ModuleNotFoundError, match="'no_such_package' is not installed: pip"):
        folder("no_such_package")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of a small bundled task."""
    return Path(shutil.copytree(DATA / "diabetes", tmp_path / "data" / "diabetes"))


def predictions(source: Path, work: Path, **entries: np.ndarray) -> None:
    """Keeps predictions as if pipelines had made them."""
    from task_data.boards import predict_entry, rows_digest
    from task_data.entry import Entry
    from task_data.problem import load_problem

    problem = load_problem(source)
    folder = work / f"diabetes-{rows_digest(source)}"
    folder.mkdir(parents=True)
    for name, values in entries.items():
        predict_entry(problem, Entry(name, lambda _, v=values: v), "plain", folder)


def truth(source: Path) -> np.ndarray:
    text = gzip.decompress((source / "answers.csv.gz").read_bytes()).decode()
    return np.array([float(line.split(",")[1]) for line in text.splitlines()[1:]])


def test_a_board_keeps_what_beats_the_constant_answer(source: Path, tmp_path: Path) -> None:
    from task_data.boards import make_board, write_board

    values = truth(source)
    noise = np.random.default_rng(0).normal(size=len(values))
    predictions(
        source, tmp_path, good=values + noise, fair=values + 20 * noise, bad=values + 200 * noise,
        broken=np.full(len(values), np.nan),
    )  # fmt: skip
    board = make_board(source, tmp_path)
    assert [name for _, name in board.rows] == ["good", "fair", "constant answer"]
    assert board.dropped == 1 and 0 < board.standard_error < 1
    write_board(board, source)
    write_board(board, source)
    table = read_toml(source / "task.toml")["board"]
    assert table["spread"] == pytest.approx(board.spread, rel=1e-3)
    lines = (source / "leaderboard.csv").read_text().splitlines()
    assert lines[0] == "rank,score,name" and len(lines) == 4


def test_other_rows_need_other_predictions(source: Path, tmp_path: Path) -> None:
    from task_data.boards import make_board

    predictions(source, tmp_path, good=truth(source))
    shutil.copy(DATA / "concrete" / "train.csv.gz", source / "train.csv.gz")
    with pytest.raises(ValueError, match="no predictions for 'diabetes'"):
        make_board(source, tmp_path)


@pytest.mark.parametrize("name", ["diabetes", "breast-cancer", "tate-medium", "digits"])
def test_entries_give_soft_predictions_of_one_form(name: str) -> None:
    from task_data.boards import POOLS
    from task_data.entry import decide, trivial
    from task_data.problem import load_problem

    problem = load_problem(DATA / name)
    first = next(iter(POOLS[problem.kind].plain(problem))).predict(problem)
    assert first.shape == trivial(problem).shape
    assert len(decide(first, problem, "likeliest")) == len(problem.ids)


def test_blends_are_drawn_without_a_look_at_scores() -> None:
    from task_data.entry import blends

    drawn = blends(["a", "b", "c", "d"], 5, seed=0)
    assert drawn == blends(["a", "b", "c", "d"], 5, seed=0)
    assert all(2 <= len(set(blend.members)) == len(blend.members) for blend in drawn)
    soft = {name: np.full(3, float(i)) for i, name in enumerate("abcd")}
    mean = np.mean([soft[name][0] for name in drawn[0].members])
    assert list(drawn[0].predict(soft)) == [mean] * 3


def test_the_record_of_hashes_is_up_to_date_and_can_be_written_anew(tmp_path: Path) -> None:
    from task_data.record import update_record

    data = Path(shutil.copytree(DATA, tmp_path / "data"))
    update_record(data)
    assert (data / "SOURCES.md").read_text() == (DATA / "SOURCES.md").read_text()
    (data / "titanic" / "description.md").write_text("other")
    update_record(data)
    changed = (data / "SOURCES.md").read_text()
    assert len(re.findall(r"^[0-9a-f]{64}  titanic/", changed, re.M)) == 6
    assert changed != (DATA / "SOURCES.md").read_text()


def test_a_task_that_the_record_does_not_know_is_named(tmp_path: Path) -> None:
    from task_data.record import update_record

    data = Path(shutil.copytree(DATA, tmp_path / "data"))
    shutil.copytree(data / "titanic", data / "olympic")
    with pytest.raises(ValueError, match="differ in \\['olympic'\\]"):
        update_record(data)
