"""``wmrl demos``: what is asked for, what is counted, what is written."""

import json
from pathlib import Path

import pytest
from rich.console import Console
from testing_demonstrations import made_up

from wmrl_envs.benchmarks import cli
from wmrl_envs.benchmarks.demonstrations.results import expert_record, expert_table
from wmrl_envs.benchmarks.demonstrations.selection import make_recipes, parse_states, parse_tasks
from wmrl_envs.libero.demonstrations import Demonstration, Recipe


def wmrl(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("text", "expected"), [("0", (0,)), ("2,0-1", (2, 0, 1)), ("all", tuple(range(10)))]
)
def test_tasks_are_numbers_ranges_or_all(text: str, expected: tuple[int, ...]) -> None:
    assert parse_tasks(text) == expected


def test_states_are_numbers_ranges_or_a_split() -> None:
    assert parse_states("train") == tuple(range(16))
    assert parse_states("heldout") == tuple(range(16, 50))
    assert parse_states("3,7-8") == (3, 7, 8)


@pytest.mark.parametrize("text", ["10", "", "1-", "a", "1,1", "-1", "3-1,x"])
def test_what_is_no_task_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="--task"):
        parse_tasks(text)


def test_every_state_has_its_episodes_and_its_failures() -> None:
    recipes = make_recipes([4, 5], [0, 1, 2], seeds=range(2), noise=0.1, failures=("drop", "miss"))
    assert len(recipes) == len({recipe.name for recipe in recipes}) == 2 * 3 * 2 * 3
    assert [recipe.task_id for recipe in recipes] == sorted(recipe.task_id for recipe in recipes)


@pytest.fixture
def evaluated() -> list[Demonstration]:
    """Three training states, one of which fails, one held-out state, and a failure on purpose."""
    found = [made_up(Recipe(0, state), success=state != 2, steps=4 + state) for state in (0, 1, 2)]
    found.append(made_up(Recipe(0, 16), steps=10))
    found.append(made_up(Recipe(0, 0, failure="miss"), success=False, steps=99))
    return found


def test_failures_on_purpose_do_not_count(evaluated: list[Demonstration]) -> None:
    console = Console(width=100, record=True)
    console.print(expert_table(evaluated))
    text = console.export_text()
    assert "2/3" in text and "1/1" in text and "99" not in text


def test_a_record_counts_each_split_and_names_what_failed(evaluated: list[Demonstration]) -> None:
    record = json.loads(json.dumps(expert_record(evaluated[:4], ["demos", "evaluate"])))
    train, heldout = (record["tasks"]["0"][split] for split in ("train", "heldout"))
    assert (train["successes"], train["episodes"], train["mean_steps"]) == (2, 3, 5.0)
    assert train["failed"] == ["task0-state02-seed0"]
    assert (heldout["successes"], heldout["episodes"]) == (1, 1)
    assert record["success"]["train"] == train
    assert record["command"] == "wmrl demos evaluate"
    assert "numpy" in record["versions"]


def test_wrong_tasks_are_a_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert wmrl("demos", "evaluate", "--task", "12") == 2
    assert "--task must name each of 0 to 9 at most once, got '12'" in capsys.readouterr().err


@pytest.mark.sim
def test_demonstrations_are_collected_replayed_and_readable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    minari = pytest.importorskip("minari")
    options = ("--task", "5", "--states", "0", "--failures", "stop", "--output", str(tmp_path))
    assert wmrl("demos", "collect", *options, "--replay", "--formats", "minari", "lerobot") == 0
    assert "every episode repeats bit for bit" in capsys.readouterr().out
    data = tmp_path / "minari" / "libero_long" / "task5-v0" / "data"
    dataset = minari.MinariDataset(data)
    facts = list(dataset.storage.get_episode_metadata(range(2)))
    assert [bool(fact["is_success"]) for fact in facts] == [True, False]
    assert [fact["failure"] for fact in facts] == ["", "stop"]
    info = json.loads((tmp_path / "lerobot" / "meta" / "info.json").read_text(encoding="utf-8"))
    assert (info["total_episodes"], info["total_frames"]) == (2, dataset.total_steps)


@pytest.mark.sim
def test_the_gallery_holds_one_strip_a_task(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    options = ("--task", "5", "--frames", "3", "--size", "32")
    assert wmrl("demos", "gallery", str(tmp_path), *options) == 0
    (path,) = tmp_path.iterdir()
    with image.open(path) as strip:
        assert (path.name, strip.size) == ("task5.jpg", (96, 32))
