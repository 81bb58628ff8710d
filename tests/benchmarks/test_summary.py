"""From run folders to a table and a sentence, against hand-computed numbers."""

import dataclasses
import math
import re
import warnings
from pathlib import Path

import pytest
from testing_runs import evaluation, write_run

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.equal_cost import at_equal_cost, reward_at
from wmrl_envs.benchmarks.autoresearch.records import Costs, write_costs
from wmrl_envs.benchmarks.autoresearch.summary import (
    HEADINGS,
    ArmResult,
    Run,
    Score,
    markdown,
    rows,
    verdict,
)

START = evaluation(0, [0.1, 0.5, 0.2, 0.4], [0.3, 0.3])
END = evaluation(8, [0.5, 0.7, 0.7, 0.9], [0.5, 0.75], executions=40)


def run(folder: Path, arm: str, *evaluations: dict, seed: int = 0, log: int = 100) -> Run:
    """A run whose world model learned from 100 episodes of a shared log of 200."""
    config = RunConfig(arm=arm, seed=seed, log_episodes=log)
    write_costs(folder / "log_costs.json", Costs(180, 90.0, 0.0, 10.0), 200)
    return Run.read(write_run(folder / f"{arm}-{seed}", config, *evaluations), folder)


def result(name: str, train: float, spread: float = 0.01, executions: int = 10) -> ArmResult:
    score = Score(train, train - spread, train + spread)
    costs = Costs(executions, 5.0)
    return ArmResult(name, name.upper(), 2, costs, Score(0.3, 0.2, 0.4), score, score, score)


def test_an_arm_is_summed_up_by_its_last_evaluation(tmp_path: Path) -> None:
    found = ArmResult.of([run(tmp_path, "wmrl", START, END)])
    assert found.train.mean == pytest.approx(0.7)
    assert found.test.mean == pytest.approx(0.625)
    assert found.percentile.mean == pytest.approx(0.25)
    assert found.start.mean == pytest.approx(0.3)
    assert (found.name, found.seeds) == ("wmrl", 1)


def test_the_intervals_resample_tasks(tmp_path: Path) -> None:
    """Task a has the mean .6, task b .8: a resample draws one of them twice, or both."""
    score = ArmResult.of([run(tmp_path, "wmrl", END)]).train
    assert (score.low, score.high) == (pytest.approx(0.6), pytest.approx(0.8))


def test_an_arm_is_charged_its_share_of_the_log(tmp_path: Path) -> None:
    """Half of the log: 90 executions, 45 seconds, 5 of generation; and the run's own."""
    costs = ArmResult.of([run(tmp_path, "wmrl", START, END)]).costs
    assert costs.executions == 90 + 40
    assert costs.execution == pytest.approx(45 + 80)
    assert costs.generation == pytest.approx(5 + 3)


def test_an_arm_without_a_world_model_is_not_charged_the_log(tmp_path: Path) -> None:
    assert ArmResult.of([run(tmp_path, "anchors", START, END)]).costs.executions == 40


def test_several_seeds_are_averaged(tmp_path: Path) -> None:
    worse = evaluation(8, [0.3, 0.3], [0.1, 0.1], executions=20)
    runs = [run(tmp_path, "anchors", START, END), run(tmp_path, "anchors", START, worse, seed=1)]
    found = ArmResult.of(runs)
    assert found.seeds == 2
    assert found.train.mean == pytest.approx((4 * 0.7 + 2 * 0.3) / 6)
    assert found.costs.executions == 30
    assert found.train.low < 0.55 < found.train.high


def test_a_run_without_a_graded_episode_has_no_score(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ArmResult.of([run(tmp_path, "wmrl", START, evaluation(8, [], []))])
        assert math.isnan(found.train.mean) and str(found.train) == "not graded"
        assert "nan" not in markdown([found]) + verdict([found])


def test_runs_that_were_not_evaluated_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be evaluated runs"):
        ArmResult.of([run(tmp_path, "wmrl")])
    with pytest.raises(ValueError, match="must be evaluated runs"):
        ArmResult.of([])


def test_a_folder_that_holds_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        Run.read(tmp_path)


def test_a_row_a_arm_and_a_cell_a_heading() -> None:
    table = rows([result("wmrl", 0.5, executions=123), result("anchors", 0.25)])
    assert [len(row) for row in table] == [len(HEADINGS)] * 2
    assert table[0][:3] == ("WMRL", "123", "5")
    assert table[0][HEADINGS.index("train reward")] == "0.500 [0.490, 0.510]"


def test_the_markdown_table_has_as_many_cells_in_every_line() -> None:
    lines = markdown([result("wmrl", 0.5), result("anchors", 0.25)]).splitlines()
    assert len(lines) == 4 and len({line.count("|") for line in lines}) == 1


def test_the_sentence_names_the_first_and_tells_the_others() -> None:
    said = verdict([result("anchors", 0.4), result("wmrl", 0.8, executions=99)])
    assert said.startswith("From a training reward of 0.30, WMRL came to the highest, 0.80")
    assert "99 executions" in said and "2 seeds" in said
    assert "ANCHORS to 0.40" in said and "overlaps" not in said
    assert said.endswith(".") and said.count("\n") == 0


def test_the_sentence_is_as_plain_when_wmrl_loses() -> None:
    said = verdict([result("wmrl", 0.4), result("anchors", 0.8)])
    assert "ANCHORS came to the highest" in said
    assert re.search("WMRL to 0.40", said)


def test_the_sentence_says_where_the_first_may_only_seem_to_be() -> None:
    said = verdict([result("wmrl", 0.50, 0.1), result("anchors", 0.45, 0.1), result("real", 0.1)])
    assert "interval overlaps that of ANCHORS." in said


def test_one_arm_alone_is_a_sentence_too() -> None:
    assert verdict([result("wmrl", 0.5)]).endswith("over 2 seeds.")
    with pytest.raises(ValueError, match="results must hold an arm"):
        verdict([])


def test_ungraded_arms_do_not_win() -> None:
    nobody = dataclasses.replace(result("anchors", 0.9), train=Score(*[math.nan] * 3))
    assert "WMRL came to the highest" in verdict([nobody, result("wmrl", 0.2)])
    assert verdict([nobody]) == "No episode was graded, so there is nothing to compare."


@pytest.mark.parametrize(
    ("executions", "reward"), [(0, 0.3), (20, 0.5), (30, 0.6), (40, 0.7), (99, 0.7)]
)
def test_the_reward_at_a_cost_is_interpolated(
    tmp_path: Path, executions: int, reward: float
) -> None:
    real = [run(tmp_path, "real", START, END)]
    found = reward_at(real, "train", lambda costs: costs.executions, executions)
    assert found == pytest.approx(reward)


def test_real_execution_is_told_at_the_cost_of_the_other(tmp_path: Path) -> None:
    real = [run(tmp_path, "real", START, END)]
    first, second = at_equal_cost(real, result("wmrl", 0.8, executions=20))
    assert "At 20 executions, where WMRL ends with 0.800" in first
    assert "real execution stands at 0.500" in first and "CPU seconds" in second
