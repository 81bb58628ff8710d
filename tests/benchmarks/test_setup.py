"""The parts of a run: the execution log and what it costs, the policy, the timed world model."""

from pathlib import Path

import pytest
import torch
from testing_runs import InstantSandbox, tiny

from wmrl_envs.benchmarks.autoresearch import setup
from wmrl_envs.benchmarks.autoresearch.config import RunConfig, SettingsError
from wmrl_envs.benchmarks.autoresearch.records import read_costs
from wmrl_envs.benchmarks.autoresearch.setup import (
    TimedWorldModel,
    check_tasks,
    collect_log,
    make_envs,
    make_policy,
)
from wmrl_envs.errors import SandboxError, WorldModelError
from wmrl_envs.wrappers.world_models import (
    Episode,
    LoggedEpisode,
    RegressionWorldModel,
    read_log,
    write_log,
)


@pytest.mark.model
@pytest.mark.usefixtures("instant")
def test_a_log_has_its_episodes_and_the_costs_of_just_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of five do not divide twelve episodes; what fills up a batch would be executed."""
    monkeypatch.setattr(setup, "_LARGEST_BATCH", 5)
    collect_log(tiny(), tmp_path, 12)
    log, (costs, episodes) = (
        read_log(tmp_path / "log.jsonl"),
        read_costs(tmp_path / "log_costs.json"),
    )
    executed = [e for e in log if e.status not in ("malformed", "syntax_error")]
    assert len(log) == episodes == 12
    assert costs.executions == len(executed)
    assert costs.execution == pytest.approx(0.25 * len(executed))
    assert costs.generation > 0 and costs.update == costs.world_model == 0
    assert {e.task.splitlines()[0] for e in log} == {
        "image multiclass accuracy",
        "tabular regression rmse",
    }


@pytest.mark.model
@pytest.mark.usefixtures("instant")
def test_equal_settings_collect_equal_logs_and_another_seed_another(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        collect_log(tiny(seed=seed), tmp_path / name, 8)
    a, b, c = (read_log(tmp_path / name / "log.jsonl") for name in "abc")
    assert a == b != c


@pytest.mark.model
def test_episodes_that_the_sandbox_fails_on_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(InstantSandbox):
        """Fails on the first two programs for good."""

        def run_many(self, jobs, *, on_error="raise"):  # type: ignore[no-untyped-def]
            for number, execution in enumerate(super().run_many(list(jobs))):
                fails = number < 2 and len(self.jobs) <= 6
                yield SandboxError("died") if fails else execution

    monkeypatch.setattr(setup, "Sandbox", Failing)
    collect_log(tiny(), tmp_path, 6)
    assert len(read_log(tmp_path / "log.jsonl")) == 6
    assert read_costs(tmp_path / "log_costs.json")[1] == 6


@pytest.mark.model
@pytest.mark.usefixtures("dead")
def test_a_dead_sandbox_makes_no_log(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="failed on all of 8 programs"):
        collect_log(tiny(), tmp_path, 8)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["train_tasks", "test_tasks"])
@pytest.mark.parametrize("tasks", [("digits", "digts"), ("digits", "digits")])
def test_tasks_that_do_not_exist_or_repeat_are_named(name: str, tasks: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError, match=f"{name}: .*'{tasks[1]}'"):
        check_tasks(RunConfig(**{name: tasks}))
    check_tasks(RunConfig())


def test_a_policy_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"policy '.*nothing' cannot be loaded"):
        make_policy(tiny(policy=str(tmp_path / "nothing")))


@pytest.mark.model
def test_a_saved_embedded_policy_reads_cards_as_the_shipped_one_does(tmp_path: Path) -> None:
    make_policy(tiny()).save(tmp_path)
    config = tiny(policy=str(tmp_path))
    envs = make_envs(config, config.train_tasks, 2, InstantSandbox())  # type: ignore[arg-type]
    observations, _ = envs.reset(seed=[0, 1])
    assert all(text.count("\n") == 3 for text in observations["task"])
    seen = [{"task": text} for text in observations["task"]]
    first, again = (
        make_policy(c).act(seen, generator=torch.Generator().manual_seed(0)).actions
        for c in (tiny(), config)
    )
    assert first == again


def test_other_policies_read_the_overview() -> None:
    envs = make_envs(tiny(policy="org/model"), ("digits",), 1, InstantSandbox())  # type: ignore[arg-type]
    (text,) = envs.reset(seed=[0])[0]["task"]
    assert text.count("\n") > 10


def episodes(count: int) -> list[LoggedEpisode]:
    return [LoggedEpisode("t", (f"x = {i}",), i / count) for i in range(count)]


def test_the_world_model_learns_from_the_beginning_of_the_log(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", episodes(30))
    plain = RegressionWorldModel(seed=1).fit(episodes(30)[:20])
    timed = TimedWorldModel(tmp_path, 20, 1)
    asked = [e.episode for e in episodes(30)]
    assert timed.predict(asked) == plain.predict(asked)
    assert (timed.out_of_fold[0] == plain.out_of_fold()[0]).all()


def test_a_refit_learns_from_the_log_and_more(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", episodes(20))
    timed = TimedWorldModel(tmp_path, 20, 0)
    further = [LoggedEpisode("u", (f"y = {i}",), 1.0) for i in range(20)]
    for _ in range(2):
        timed.refit(further)
    plain = RegressionWorldModel().fit([*episodes(20), *further])
    asked = [e.episode for e in further]
    assert timed.predict(asked) == plain.predict(asked)


def test_fits_and_predictions_are_charged(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", episodes(20))
    timed = TimedWorldModel(tmp_path, 20, 0)
    charged = [timed.cpu_seconds]
    timed.predict([Episode("t", ("x = 1",))])
    charged.append(timed.cpu_seconds)
    timed.refit(episodes(20))
    charged.append(timed.cpu_seconds)
    assert 0 < charged[0] < charged[1] < charged[2]


@pytest.mark.parametrize(
    "text", ["", "not json\n", '{"task": "t", "actions": ["x ="], "reward": 0}\n']
)
def test_a_log_that_teaches_nothing_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "log.jsonl").write_text(text)
    with pytest.raises(WorldModelError, match=r"cannot learn from .*log\.jsonl"):
        TimedWorldModel(tmp_path, 9, 0)
