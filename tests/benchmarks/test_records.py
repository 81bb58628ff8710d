"""The files of a run folder: they survive a kill, and hold no NaN."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.benchmarks.autoresearch.records import (
    Costs,
    SettingsError,
    append_line,
    check_log,
    is_finished,
    keep_until,
    read_costs,
    read_lines,
    replace_file,
    write_costs,
)

seconds = st.floats(0, 1e6)
costs = st.builds(Costs, st.integers(0, 10**6), seconds, seconds, seconds, seconds)


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    for step in range(3):
        append_line(tmp_path / "a.jsonl", {"step": step, "text": "a\u2028b\n"})
    assert read_lines(tmp_path / "a.jsonl") == [{"step": i, "text": "a\u2028b\n"} for i in range(3)]


def test_a_missing_file_holds_nothing(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "absent.jsonl") == []
    assert keep_until(tmp_path / "absent.jsonl", 3) == []
    assert not (tmp_path / "absent.jsonl").exists()


def test_a_line_that_a_kill_cut_short_holds_nothing(tmp_path: Path) -> None:
    append_line(tmp_path / "a.jsonl", {"step": 1})
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write('{"step": 2, "cos')
    assert read_lines(tmp_path / "a.jsonl") == [{"step": 1}]


def test_lines_of_later_steps_and_cut_ones_are_dropped_for_good(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for step in (0, 1, 2, 3):
        append_line(path, {"step": step})
    with path.open("a") as file:
        file.write('{"step"')
    assert keep_until(path, 1) == [{"step": 0}, {"step": 1}]
    append_line(path, {"step": 2})
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [0, 1, 2]


def test_numbers_that_are_not_finite_become_null(tmp_path: Path) -> None:
    record = {"a": float("nan"), "b": [1.0, float("inf")], "c": {"d": float("-inf"), "e": 2}}
    append_line(tmp_path / "a.jsonl", record)
    assert "NaN" not in (tmp_path / "a.jsonl").read_text()
    assert read_lines(tmp_path / "a.jsonl") == [
        {"a": None, "b": [1.0, None], "c": {"d": None, "e": 2}}
    ]


def test_a_replaced_file_is_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    replace_file(tmp_path / "new" / "a.txt", "one")
    replace_file(tmp_path / "new" / "a.txt", "two")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.txt"]
    assert (tmp_path / "new" / "a.txt").read_text() == "two"


@given(costs, costs)
def test_costs_add_up_and_subtract(first: Costs, second: Costs) -> None:
    total = first + second
    assert total.executions == first.executions + second.executions
    assert total.cpu_seconds == pytest.approx(first.cpu_seconds + second.cpu_seconds)
    assert (total - second).cpu_seconds == pytest.approx(first.cpu_seconds, abs=1e-6)


def test_a_share_of_costs() -> None:
    assert Costs(9, 1.0, 2.0, 3.0, 4.0).scaled(0.5) == Costs(4, 0.5, 1.0, 1.5, 2.0)
    assert Costs(10, 1.0).cpu_seconds == 1.0


@given(costs, st.integers(1, 1000))
def test_the_costs_of_a_log_come_back(
    tmp_path_factory: pytest.TempPathFactory, spent: Costs, episodes: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log_costs.json"
    write_costs(path, spent, episodes)
    assert read_costs(path) == (spent, episodes)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"episodes": 3, "more": 1}', "3"])
def test_a_file_that_holds_no_costs_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "log_costs.json").write_text(text)
    with pytest.raises(ValueError, match=r"log_costs\.json: not the costs"):
        read_costs(tmp_path / "log_costs.json")
    with pytest.raises(SettingsError, match="holds no execution log"):
        check_log(tmp_path, 1)


def test_a_log_that_is_missing_or_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="holds no execution log"):
        check_log(tmp_path, 1)
    write_costs(tmp_path / "log_costs.json", Costs(), 9)
    check_log(tmp_path, 9)
    with pytest.raises(SettingsError, match="a log of 9 episodes.* got 10"):
        check_log(tmp_path, 10)


def test_a_run_is_finished_when_its_policy_is_there(tmp_path: Path) -> None:
    (tmp_path / "policy.partial").mkdir()
    assert not is_finished(tmp_path)
    (tmp_path / "policy.partial").rename(tmp_path / "policy")
    assert is_finished(tmp_path)
