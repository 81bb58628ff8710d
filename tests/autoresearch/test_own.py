"""Tasks made from a data frame."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from wmrl_envs.autoresearch import catalog, make_task
from wmrl_envs.autoresearch.grading import GradeStatus
from wmrl_envs.autoresearch.leaderboard import Leaderboard
from wmrl_envs.autoresearch.leaks import find_leaks

GIVEN = [0.9, 0.1, 0.5]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Sorted rows with an id, so that row order and id would tell every target."""
    generator = np.random.default_rng(0)
    size = np.sort(generator.normal(size=300))
    return pd.DataFrame(
        {
            "id": range(300),
            "size": size + generator.normal(size=300) / 4,
            "colour": generator.choice(["red", "blue"], 300),
            "note": [f"note {i} of {i % 7}" for i in generator.permutation(300)],
            "price": 10 * size,
            "weight": size**2,
            "kind": np.where(size > 0, "large", "small"),
            "grade": np.clip(np.rint(size), -1, 1).astype(int),
            "flag": size > 0,
        }
    )


def features(frame: pd.DataFrame, *targets: str) -> pd.DataFrame:
    return frame[["id", "size", "colour", "note", *targets]]


@pytest.mark.parametrize(
    ("targets", "category", "metric", "classes"),
    [
        (["price"], "regression", "rmse", ()),
        (["price", "weight"], "other", "mcrmse", ()),
        (["kind"], "binary", "auc", ("large", "small")),
        (["flag"], "binary", "auc", ("False", "True")),
        (["grade"], "multiclass", "accuracy", ("-1", "0", "1")),
    ],
)
def test_the_target_decides_category_and_metric(
    frame: pd.DataFrame,
    tmp_path: Path,
    targets: list[str],
    category: str,
    metric: str,
    classes: tuple[str, ...],
) -> None:
    task = make_task(features(frame, *targets), targets, folder=tmp_path / "t", leaderboard=GIVEN)
    task.check()
    assert (task.category, task.metric, task.spec.classes) == (category, metric, classes)
    assert task.split == "none" and "own" in task.overview()


def test_neither_order_nor_ids_tell_the_target(frame: pd.DataFrame, tmp_path: Path) -> None:
    task = make_task(features(frame, "kind"), "kind", folder=tmp_path / "t", leaderboard=GIVEN)
    assert find_leaks(task) == ()
    train = pd.read_csv(task.public_dir / "train.csv")
    test = pd.read_csv(task.public_dir / "test.csv")
    assert list(train["id"]) == list(range(210)) and list(test["id"]) == list(range(210, 300))
    assert "kind" not in test and set(train["note"]).isdisjoint(test["note"])


def test_a_quick_board_ranks_a_good_submission_above_the_constant(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    task = make_task(features(frame, "price"), "price", folder=tmp_path / "t")
    (board,) = task.boards
    assert isinstance(board, Leaderboard) and len(board.scores) >= 5
    test = pd.read_csv(task.public_dir / "test.csv")
    good = test[["id"]].assign(price=10 * test["size"]).to_csv(index=False).encode()
    constant = (task.public_dir / "sample_submission.csv").read_bytes()
    better, worse = task.grade(good), task.grade(constant)
    assert better.position is not None and worse.position is not None
    assert better.position > 0.5 > 0.2 > worse.position


@pytest.mark.parametrize("metric", ["mlogloss", "qwk", "macro_f1"])
def test_a_quick_board_suits_every_form_of_submission(
    frame: pd.DataFrame, tmp_path: Path, metric: str
) -> None:
    rows = features(frame, "grade").drop(columns="note")
    task = make_task(rows, "grade", metric=metric, folder=tmp_path / "t")
    task.check()
    (board,) = task.boards
    assert isinstance(board, Leaderboard) and len(board.scores) >= 5


def test_one_column_of_strings_makes_a_text_task(tmp_path: Path) -> None:
    texts = [f"{'good' if i % 2 else 'bad'} film number {i}" for i in range(60)]
    rows = pd.DataFrame({"review": texts, "liked": [i % 2 for i in range(60)]})
    task = make_task(rows, "liked", folder=tmp_path / "t")
    assert task.card().startswith("text binary auc\n")


def test_the_same_arguments_give_the_same_task(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "default_cache_dir", lambda: tmp_path)
    rows = features(frame, "price")
    first = make_task(rows, "price", name="mine", leaderboard=GIVEN)
    assert first.folder.parent == tmp_path / "own" and first.folder.name.startswith("mine-")
    assert make_task(rows, "price", name="mine", leaderboard=GIVEN).folder == first.folder
    assert make_task(rows, "price", name="mine", leaderboard=GIVEN, seed=1).folder != first.folder


def test_an_environment_plays_it(frame: pd.DataFrame, tmp_path: Path) -> None:
    task = make_task(features(frame, "price"), "price", folder=tmp_path / "t", leaderboard=GIVEN)
    env = gym.make("wmrl_envs:WMRL/AutoResearch-v0", tasks=[task])
    observation, info = env.reset(seed=0)
    assert info["task"] == "own" and observation["task"] == task.overview()
    assert env.step("print(")[4]["grade_status"] == GradeStatus.SYNTAX_ERROR.value
    env.close()


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("prize", {}, "target 'prize' is no column of the frame"),
        ("id", {}, "target must name columns other than 'id'"),
        ([], {}, "target must name columns"),
        ("colour", {"metric": "rmse"}, "target 'colour' must hold numbers for metric 'rmse'"),
        (["price", "kind"], {}, "target 'kind' must hold numbers for metric 'mcrmse'"),
        ("price", {"metric": "auc"}, "metric 'auc' wants classes"),
        ("price", {"metric": "best"}, "metric must be one of"),
        ("price", {"name": "../up"}, "name must be letters, digits"),
        ("price", {"test_fraction": 1.5}, "test_fraction must lie between 0 and 1, got 1.5"),
        ("price", {"leaderboard": "long"}, "leaderboard must be 'quick' or a list of scores"),
        ("price", {"leaderboard": [1.0, 1.0]}, "two different finite scores"),
    ],
)
def test_an_impossible_argument_is_named(
    frame: pd.DataFrame,
    tmp_path: Path,
    target: str | list[str],
    options: dict[str, object],
    message: str,
) -> None:
    settings = {"folder": tmp_path / "t", "leaderboard": GIVEN, **options}
    with pytest.raises(ValueError, match=message):
        make_task(frame, target, **settings)  # type: ignore[arg-type]
    assert not (tmp_path / "t").exists()


def test_missing_targets_few_rows_and_a_taken_folder_are_refused(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    holes = frame.assign(price=frame["price"].where(frame["size"] > 0))
    with pytest.raises(ValueError, match="'price' is missing in .* rows; drop them first"):
        make_task(holes, "price", folder=tmp_path / "t")
    with pytest.raises(ValueError, match="at least 20 rows, got 10"):
        make_task(frame.head(10), "price", folder=tmp_path / "t")
    with pytest.raises(ValueError, match="folder must not exist yet"):
        make_task(frame, "price", folder=tmp_path, leaderboard=GIVEN)
    with pytest.raises(TypeError, match="frame must be a pandas DataFrame, got list"):
        make_task([], "price")  # type: ignore[arg-type]


ODD = {
    "mixed": pd.Series([1, "a"] * 50, dtype=object),
    "missing texts": pd.array([pd.NA, "a"] * 50, dtype="string"),
    "missing integers": pd.array([pd.NA, 1] * 50, dtype="Int64"),
    "infinite": [np.inf, 1.0] * 50,
    "nothing": [np.nan] * 100,
    "dates": [pd.Timestamp("2020-01-01"), pd.NaT] * 50,
    "lists": [[1, 2]] * 100,
    "marks": ["!" * i for i in range(100)],
    "numbers": ["x"] * 100,
    7: range(100),
}


@pytest.mark.filterwarnings("error")
def test_odd_columns_do_not_keep_the_pipelines_from_the_others(tmp_path: Path) -> None:
    """Each of these columns once stopped the board, or left a constant answer on it alone."""
    generator = np.random.default_rng(0)
    size = generator.normal(size=100)
    rows = pd.DataFrame({"size": size, **ODD, "price": size + generator.normal(size=100) / 9})
    (board,) = make_task(rows, "price", folder=tmp_path / "t").boards
    assert isinstance(board, Leaderboard) and len(board.scores) >= 8


def test_another_board_makes_another_task(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "default_cache_dir", lambda: tmp_path)
    rows = features(frame, "price")
    for scores in ([1.0, 2.0], [10.0, 20.0]):
        (board,) = make_task(rows, "price", leaderboard=scores).boards
        assert isinstance(board, Leaderboard) and list(board.scores) == scores


def test_a_row_of_every_class_is_left_to_learn_from(tmp_path: Path) -> None:
    rows = pd.DataFrame({"size": range(60), "kind": ["a"] * 40 + ["b"] * 19 + ["rare"]})
    task = make_task(rows, "kind", test_fraction=0.98, leaderboard=GIVEN, folder=tmp_path / "t")
    train = pd.read_csv(task.public_dir / "train.csv")
    assert sorted(train["kind"]) == ["a", "b", "rare"]


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        (["only"] * 60, {}, "target 'y' must hold different values, got 'only' only"),
        ([np.inf, 1.0] * 30, {}, "target 'y' must hold finite numbers"),
        (["", "a"] * 30, {}, "target 'y' must hold no blank labels"),
        ([f"name {i}" for i in range(60)], {}, "'y' must hold a class twice"),
        (["a"] * 59 + ["b"], {"metric": "auc"}, "no task that can be graded: answers.csv: metric"),
        (["1", "1.0"] * 30, {}, "no task that can be graded: task.toml: key 'classes'"),
        (range(60), {"test_fraction": 0.001}, "undefined on the feedback half"),
        (range(60), {"time_limit": float("nan")}, "time_limit must be a positive number"),
        (range(60), {"leaderboard": None}, "leaderboard must be 'quick' or a list of scores"),
        (range(60), {"leaderboard": ["x"]}, "leaderboard must be 'quick' or a list of scores"),
        (range(60), {"name": None}, "name must be letters"),
        (range(60), {"leaderboard": "quick"}, "nothing better than a constant answer"),
    ],
)
def test_a_target_that_cannot_be_graded_is_refused_when_the_task_is_made(
    tmp_path: Path, column: list[object], options: dict[str, object], message: str
) -> None:
    rows = pd.DataFrame({"blank": [np.nan] * 60, "y": column})
    settings = {"folder": tmp_path / "t", "leaderboard": GIVEN, **options}
    with pytest.raises(ValueError, match=message):
        make_task(rows, "y", **settings)  # type: ignore[arg-type]


def test_columns_are_named_by_texts_and_once(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two columns of one name, got 'price' twice"):
        make_task(pd.concat([frame, frame[["price"]]], axis=1), "price")
    with pytest.raises(ValueError, match="name of a column, or a list of names, got 3"):
        make_task(frame, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a column beside"):
        make_task(frame[["id", "price"]], "price")
    with pytest.raises(TypeError, match="seed must be an int, got None"):
        make_task(frame, "price", seed=None)  # type: ignore[arg-type]
