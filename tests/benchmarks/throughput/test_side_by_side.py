"""Contenders measured in turns."""

import json
import math
from pathlib import Path

import pytest

from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Cost, Samples, interleave


def test_contenders_take_turns_and_each_comes_first_once() -> None:
    calls: list[str] = []
    interleave({name: lambda n=name: calls.append(n) for name in "abc"}, rounds=3, warmup=0)
    assert "".join(calls) == "abcbcacab"


def test_warm_up_rounds_are_not_measured() -> None:
    samples = interleave({"a": lambda: None}, rounds=2, warmup=3)["a"]
    assert len(samples.costs) == 2


def test_a_contender_that_knows_its_cost_is_believed() -> None:
    samples = interleave({"a": lambda: Cost(2.0, 1.0, units=4, peak_mb=8.0)}, rounds=2)["a"]
    assert (samples.cpu_per_unit, samples.rate, samples.peak_mb) == (0.25, 2.0, 8.0)


def test_a_contender_may_say_how_many_units_it_did() -> None:
    samples = interleave({"a": lambda: 5}, rounds=1)["a"]
    assert samples.costs[0].units == 5.0


def test_a_rate_is_over_all_rounds_and_a_cost_is_their_median() -> None:
    samples = Samples(tuple(Cost(wall, cpu) for wall, cpu in [(1.0, 1.0), (1.0, 2.0), (4.0, 9.0)]))
    assert (samples.rate, samples.cpu_per_unit, samples.wall_quantile(0.5)) == (0.5, 2.0, 1.0)


def test_memory_that_was_not_measured_is_left_out_of_the_record() -> None:
    samples = Samples((Cost(1.0, 1.0),))
    assert math.isnan(samples.peak_mb) and "peak_mb" not in samples.record()


@pytest.mark.parametrize(("rounds", "warmup"), [(0, 1), (1, -1)])
def test_impossible_rounds_are_refused(rounds: int, warmup: int) -> None:
    with pytest.raises(ValueError, match=f"got {rounds} and {warmup}"):
        interleave({}, rounds, warmup=warmup)


def test_a_comparison_is_written_as_it_is_shown(tmp_path: Path) -> None:
    comparison = Comparison("t", ("what", "ms"), [("a", 1.5), ("b", float("nan"))], ["a wins"])
    comparison.write(tmp_path / "new")
    text = (tmp_path / "new" / "table.md").read_text()
    assert text == "| what | ms |\n| --- | --- |\n| a | 1.5 |\n| b |  |\n\n- a wins\n"
    assert json.loads((tmp_path / "new" / "results.json").read_text())["findings"] == ["a wins"]
