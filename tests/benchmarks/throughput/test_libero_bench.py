"""Tests of the comparison with stock LIBERO."""

import importlib.util

import pytest

from wmrl_envs.benchmarks.throughput.libero import compare_libero


@pytest.mark.slow
@pytest.mark.timeout(1200)  # five processes, each of which makes a simulator
@pytest.mark.sim
@pytest.mark.skipif(importlib.util.find_spec("libero") is None, reason="LIBERO is not installed")
def test_every_contender_lives_and_is_compared_with_stock():
    comparison = compare_libero((2,), rounds=1, steps=2, episode=3, command=["bench", "libero"])
    assert [row[:4] for row in comparison.rows] == [
        (2, "stock", 2, 1),
        (2, "ours", 2, 1),
        (2, "ours", 1, 8),
        (2, "stock", 0, 1),
        (2, "ours", 0, 1),
    ]
    assert all(cost > 0.0 for row in comparison.rows for cost in row[4:])
    assert "mujoco" in comparison.record["versions"]
    assert "times as many steps a CPU second" in comparison.findings[0]
