"""The sandbox comparison measures what it says, and isolation beats a cold interpreter."""

import json
from pathlib import Path

import pytest

from wmrl_envs.benchmarks.throughput.process_cpu import cpu_seconds
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.sandbox import Plan, compare_sandboxes
from wmrl_envs.benchmarks.throughput.sandbox_contenders import (
    BARE_FORK,
    BUBBLEWRAP,
    COLD,
    FLOOR,
    FULL,
    STANDARD,
    reason_against,
)
from wmrl_envs.benchmarks.throughput.sandbox_jobs import WORKLOADS, Workload

pytestmark = pytest.mark.sandbox
_IRIS = WORKLOADS[1].name


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    plan = Plan(WORKLOADS[1:2], (COLD, BARE_FORK, FULL), rounds=2, pair_rounds=1, pair_jobs=2)
    return compare_sandboxes(plan, ["bench", "sandbox", "--quick", "--out", "somewhere"])


@pytest.mark.slow
def test_full_isolation_of_a_warm_interpreter_beats_a_cold_one(comparison: Comparison) -> None:
    figures = comparison.record["figures"][_IRIS]
    cold, full = figures[COLD]["one_worker"], figures[FULL]["one_worker"]
    assert full["cpu_s"] < cold["cpu_s"] / 3
    assert full["per_second"] > cold["per_second"]
    assert figures[FULL]["own_mb"] < figures[COLD]["own_mb"]


@pytest.mark.slow
def test_every_contender_has_every_figure(comparison: Comparison) -> None:
    figures = comparison.record["figures"]
    assert list(figures) == [_IRIS]
    assert set(figures[_IRIS]) == {COLD, BARE_FORK, FULL}
    for found in figures[_IRIS].values():
        for one in ("one_worker", "two_workers"):
            assert found[one]["wall_p95_s"] >= found[one]["wall_p50_s"] > 0
        assert found["pss_mb"] >= found["own_mb"] > 0


@pytest.mark.slow
def test_a_result_says_how_it_was_made(comparison: Comparison, tmp_path: Path) -> None:
    comparison.write(tmp_path)
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["command"] == "wmrl bench sandbox --quick"
    assert "kernel" in record["machine"]
    assert (record["rounds"], record["jobs_with_two_workers"], record["blas_threads"]) == (2, 2, 1)
    assert record["versions"]["numpy"] and record["date"] and "seed" in record
    assert record["timeout_overshoot_s"] > 0
    assert any("times the jobs/s of cold Python" in finding for finding in record["findings"])
    assert "| cold python |" in (tmp_path / "table.md").read_text()


@pytest.mark.slow
def test_all_the_local_contenders_run_an_empty_script() -> None:
    names = [
        n for n in (COLD, BUBBLEWRAP, STANDARD, BARE_FORK, FLOOR, FULL) if not reason_against(n)
    ]
    plan = Plan(WORKLOADS[:1], names, rounds=1, pair_rounds=1, pair_jobs=2)
    figures = compare_sandboxes(plan, []).record["figures"][WORKLOADS[0].name]
    assert set(figures) == set(names)


def test_a_contender_that_cannot_take_part_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert reason_against(BUBBLEWRAP) == "bubblewrap is not installed"
    tiny = Workload("tiny", WORKLOADS[0].code, preload=())
    plan = Plan((tiny,), (BUBBLEWRAP, BARE_FORK), rounds=1, pair_rounds=1, pair_jobs=2)
    comparison = compare_sandboxes(plan, [])
    figures = comparison.record["figures"]["tiny"]
    assert figures[BUBBLEWRAP] == {"skipped": "bubblewrap is not installed"}
    assert "bubblewrap is not installed" in comparison.markdown()


def test_cpu_time_never_runs_backwards() -> None:
    before = cpu_seconds([])
    sum(i * i for i in range(100_000))
    assert cpu_seconds([]) > before
