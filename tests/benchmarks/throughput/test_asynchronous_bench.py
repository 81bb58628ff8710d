"""The comparison of overlapping with synchronous rollouts trains all alike."""

import pytest

from wmrl_envs.benchmarks.throughput.asynchronous import OverlapPlan, compare_staleness
from wmrl_envs.benchmarks.throughput.grpo_workload import Workload


@pytest.mark.model
def test_runs_differ_in_staleness_alone() -> None:
    workload = Workload.quick()
    plan = OverlapPlan(staleness=(0, 1), steps=3, seeds=1, execution=0.1, workload=workload)
    comparison = compare_staleness(plan, ["bench", "overlap"])
    synchronous, overlapping = comparison.record["rewards"].values()
    assert [len(curve) for curve in (*synchronous, *overlapping)] == [3, 3]
    assert synchronous[0][0] == overlapping[0][0]  # the first batch has the first policy
    assert [row[0] for row in comparison.rows] == [0, 1] and comparison.rows[0][2] == 0
