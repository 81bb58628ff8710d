"""Slots for one's own agent, and the study of the paper's runs."""

import json
from pathlib import Path

import numpy as np
import pytest

from wmrl_envs.benchmarks import cli
from wmrl_envs.benchmarks.scaling.sizing import at_rate, load, slot_rows, slots_needed
from wmrl_envs.benchmarks.scaling.study import Effort, gpu_hours, match, mean_cut_execution
from wmrl_envs.benchmarks.scaling.workload import PUBLISHED_HOURS, Workload, agent

SMALL = Workload(groups=2, group_size=4, staleness=3, execution_seconds=20.0, execution_spread=0.5)


def test_the_mean_of_cut_executions_is_that_of_draws() -> None:
    workload = Workload(execution_seconds=200.0, execution_spread=1.2)
    normal = np.random.default_rng(0).normal(size=400_000)
    draws = np.minimum(200.0 * np.exp(1.2 * normal - 0.72), 600.0)
    assert mean_cut_execution(workload) == pytest.approx(draws.mean(), rel=0.01)


def test_with_a_slot_for_everything_the_wanted_rate_is_reached() -> None:
    [row] = slot_rows(at_rate(SMALL.with_(in_order=False), 6.0), "real", [32], measured=40)
    assert row.rate == pytest.approx(6.0, rel=0.15)


def test_too_few_slots_bound_the_rate_to_what_they_hold() -> None:
    scaled = at_rate(SMALL, 60.0)
    [row] = slot_rows(scaled, "real", [2], measured=40)
    assert row.rate == pytest.approx(2 * 60 / (4 * mean_cut_execution(SMALL)), rel=0.1)


def test_real_execution_needs_about_its_load_and_wmrl_far_less() -> None:
    scaled = at_rate(SMALL, 6.0)
    real, wmrl = (slots_needed(scaled, arm, measured=30) for arm in ("real", "wmrl"))
    assert 0.6 * load(scaled, 6.0, "real") < real < 2.5 * load(scaled, 6.0, "real")
    assert wmrl < real


@pytest.mark.slow
def test_two_fits_reach_their_two_published_numbers() -> None:
    effort = Effort(measured=8, seeds=1)
    fitted = match("4B", effort)
    for arm in ("real", "world-model"):
        found = gpu_hours(fitted, arm, effort)
        assert found == pytest.approx(PUBLISHED_HOURS["4B"][arm], rel=0.02)


def test_an_unknown_agent_is_named() -> None:
    with pytest.raises(ValueError, match="'70B'"):
        agent("70B")


def run(*arguments: object) -> object:
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    return ended.value.code


def test_the_command_answers_for_ones_own_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--rate", 10, "--execution-seconds", 6, "--slots", 3, "--turns", 1, "--quick")
    assert run("bench", "scaling", *options, "--out", tmp_path) == 0
    assert "With your 3 slots" in capsys.readouterr().out
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["needed"]["wmrl"] <= record["needed"]["real"]
    assert (tmp_path / "slots.png").stat().st_size > 1000


@pytest.mark.slow
def test_the_command_sets_simulated_beside_published_hours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("bench", "scaling", "--quick", "--out", tmp_path) == 0
    assert "published" in capsys.readouterr().out
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["published_hours"]["4B"]["wmrl"] == 286
    for fitted in ("matched", "loose"):
        assert record["figures"][fitted]["4B"]["real"] == pytest.approx(883, rel=0.02)
    assert (tmp_path / "scaling.png").stat().st_size > 1000


@pytest.mark.parametrize("options", [("--slots", 3), ("--rate", 0), ("--rate", 5, "--slots", 0)])
def test_numbers_that_cannot_be_are_one_line_of_error(
    options: tuple[object, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("bench", "scaling", *options) == 2
    assert capsys.readouterr().err.startswith("wmrl: ")
