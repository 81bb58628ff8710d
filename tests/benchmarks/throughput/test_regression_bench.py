"""The regression beside execution: new episodes, in turns."""

import pytest

from wmrl_envs.benchmarks.throughput.regression import compare_regression


@pytest.mark.slow
@pytest.mark.model
def test_the_bench_compares_new_episodes_in_turns(instant: None) -> None:
    found = compare_regression(1, 2, 12, ["bench", "regression"])
    assert [row[0] for row in found.rows] == ["regression", "warm execution"]
    assert found.record["cpu_ratio"] > 1 and found.record["fidelity"]["count"] > 12
    assert "times the grades of warm execution" in found.findings[0]
