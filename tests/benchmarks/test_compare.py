"""A comparison: equal executions, what is left to do, and processes that end."""

from contextlib import closing
from pathlib import Path

import pytest
from testing_runs import processes_about, write_run

from wmrl_envs.benchmarks.autoresearch.arms import ARMS
from wmrl_envs.benchmarks.autoresearch.compare import (
    Job,
    JobFailed,
    arm_config,
    arm_folder,
    comparison,
    log_folder,
    options,
    run_jobs,
)
from wmrl_envs.benchmarks.autoresearch.config import RunConfig, SettingsError
from wmrl_envs.benchmarks.autoresearch.records import Costs, write_costs

ARMS_3 = ("anchors", "world-model", "wmrl")
BASE = RunConfig(steps=10, groups=10, group_size=10, anchors=0.2, log_episodes=100)


def finish(root: Path, arm: str, seed: int = 0) -> None:
    write_run(arm_folder(root, arm, seed), arm_config(BASE, arm, seed))
    (arm_folder(root, arm, seed) / "policy").mkdir()


def finish_log(root: Path, seed: int = 0, episodes: int = 300) -> None:
    log_folder(root, seed).mkdir(parents=True)
    write_costs(log_folder(root, seed) / "log_costs.json", Costs(), episodes)


def names(jobs: list[Job]) -> list[str]:
    return [job.name for job in jobs]


def test_all_three_arms_execute_equally_often() -> None:
    """WMRL: a log of 100 and a fifth of 1,000 episodes."""
    wmrl, world_model, anchors = (
        arm_config(BASE, arm, 3) for arm in ("wmrl", "world-model", "anchors")
    )
    assert (wmrl.log_episodes, wmrl.anchors) == (100, 0.2)
    assert world_model.log_episodes == 300
    assert anchors.anchors * BASE.steps * BASE.num_envs == pytest.approx(300)
    assert {config.seed for config in (wmrl, world_model, anchors)} == {3}


def test_anchors_alone_cannot_execute_more_than_there_is() -> None:
    assert arm_config(BASE.with_(log_episodes=5000), "anchors", 0).anchors == 1.0


def test_arms_with_a_world_model_wait_for_their_seeds_log(tmp_path: Path) -> None:
    jobs = {job.name: job for job in comparison(BASE, ARMS_3, [0, 1], tmp_path)}
    for seed in (0, 1):
        assert jobs[f"log, seed {seed}"].after is None
        assert jobs[f"anchors, seed {seed}"].after is None
        for arm in ("world-model", "wmrl"):
            assert jobs[f"{arm}, seed {seed}"].after == f"log, seed {seed}"
            assert "--log" in jobs[f"{arm}, seed {seed}"].command
    assert len(jobs) == 8


def test_the_log_serves_the_arm_that_needs_most(tmp_path: Path) -> None:
    (log,) = [j for j in comparison(BASE, ARMS_3, [0], tmp_path) if j.name.startswith("log")]
    position = log.command.index("--log-episodes")
    assert log.command[:1] == ("collect",) and log.command[position + 1] == "300"


def test_nobody_waits_for_a_log_that_is_there(tmp_path: Path) -> None:
    finish_log(tmp_path)
    jobs = comparison(BASE, ARMS_3, [0], tmp_path)
    assert names(jobs) == ["anchors, seed 0", "world-model, seed 0", "wmrl, seed 0"]
    assert {job.after for job in jobs} == {None}


def test_each_seed_has_its_own_log(tmp_path: Path) -> None:
    finish_log(tmp_path, seed=1)
    jobs = comparison(BASE, ("wmrl",), [0, 1], tmp_path)
    assert [(job.name, job.after) for job in jobs] == [
        ("log, seed 0", None),
        ("wmrl, seed 0", "log, seed 0"),
        ("wmrl, seed 1", None),
    ]


def test_finished_runs_and_a_log_that_nobody_needs_are_left_out(tmp_path: Path) -> None:
    finish(tmp_path, "world-model")
    finish(tmp_path, "wmrl")
    assert names(comparison(BASE, ARMS_3, [0], tmp_path)) == ["anchors, seed 0"]
    finish(tmp_path, "anchors")
    assert comparison(BASE, ARMS_3, [0], tmp_path) == []


def test_arms_without_a_world_model_need_no_log(tmp_path: Path) -> None:
    jobs = comparison(BASE, ("real", "anchors"), [0], tmp_path)
    assert names(jobs) == ["real, seed 0", "anchors, seed 0"]
    assert not any("--log" in job.command for job in jobs)


def test_an_unfinished_run_is_continued(tmp_path: Path) -> None:
    finish_log(tmp_path)
    write_run(arm_folder(tmp_path, "wmrl", 0), arm_config(BASE, "wmrl", 0))
    assert names(comparison(BASE, ("wmrl",), [0], tmp_path)) == ["wmrl, seed 0"]


def test_a_run_that_was_begun_with_other_settings_is_refused(tmp_path: Path) -> None:
    finish(tmp_path, "wmrl")
    with pytest.raises(SettingsError, match="made with steps=10, not 11"):
        comparison(BASE.with_(steps=11), ("wmrl",), [0], tmp_path)


def test_a_log_that_is_too_short_is_refused(tmp_path: Path) -> None:
    finish_log(tmp_path, episodes=99)
    with pytest.raises(SettingsError, match="a log of 99 episodes"):
        comparison(BASE, ("wmrl",), [0], tmp_path)


def test_an_unknown_arm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="arm must be one of .* got 'wmlr'"):
        comparison(BASE, ("wmlr",), [0], tmp_path)


def test_options_are_what_differs_from_the_defaults() -> None:
    assert options(RunConfig()) == ()
    config = RunConfig(seed=3, anchors=0.25, train_tasks=("digits", "concrete"), sandbox="cold")
    assert options(config) == (
        *("--seed", "3", "--anchors", "0.25", "--train-tasks", "digits", "concrete"),
        *("--sandbox", "cold"),
    )


@pytest.mark.parametrize("arm", ARMS)
def test_options_are_read_back_by_the_command_line(arm: str) -> None:
    import tyro
    from tyro.conf import OmitArgPrefixes

    config = arm_config(BASE, arm, 5)
    assert tyro.cli(RunConfig, args=options(config), config=(OmitArgPrefixes,)) == config


def job(folder: Path, name: str, *command: str, after: str | None = None) -> Job:
    return Job(name, command, folder / name / "output.txt", after)


def test_jobs_run_in_their_order_and_leave_their_output(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "a", "--version"), job(tmp_path, "b", "--version", after="a")]
    assert list(run_jobs(jobs, at_once=2))
    assert all("wmrl-envs" in j.output.read_text() for j in jobs)
    assert jobs[0].output.stat().st_mtime_ns <= jobs[1].output.stat().st_mtime_ns


def test_no_jobs_are_done_at_once() -> None:
    assert list(run_jobs([], at_once=1)) == []


def test_a_job_that_fails_is_told_in_one_line_with_its_last_words(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "bad", "tasks", "show", "nonsense"), job(tmp_path, "x", after="bad")]
    with pytest.raises(JobFailed, match="bad ended with code 2: wmrl: unknown task") as failed:
        list(run_jobs(jobs, at_once=2))
    assert "\n" not in str(failed.value) and str(jobs[0].output) in str(failed.value)
    assert not jobs[1].output.exists()


def test_jobs_end_when_nobody_follows_them_any_more(tmp_path: Path) -> None:
    long = job(tmp_path, "long", "collect", str(tmp_path / "log"))
    with closing(run_jobs([long], at_once=1)) as running:
        next(running)
        while not processes_about(tmp_path):
            next(running)
    assert processes_about(tmp_path) == []


@pytest.mark.parametrize("after", ["unheard", "b", "c"])
def test_a_job_after_one_that_is_not_before_it_is_refused(tmp_path: Path, after: str) -> None:
    jobs = [job(tmp_path, "a"), job(tmp_path, "b", after=after), job(tmp_path, "c")]
    with pytest.raises(ValueError, match=f"job 'b' comes after '{after}'"):
        next(run_jobs(jobs, at_once=1))


def test_at_least_one_process_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at_once must be at least 1, got 0"):
        next(run_jobs([job(tmp_path, "a")], at_once=0))
