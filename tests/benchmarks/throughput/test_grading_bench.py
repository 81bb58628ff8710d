"""The comparison of ways to grade."""

from wmrl_envs.benchmarks.throughput.grading import compare_grading


def test_the_ways_agree_and_are_compared_at_each_number_of_rows() -> None:
    comparison = compare_grading((50, 30_000), rounds=1, command=["bench"])
    by_name = {(rows, name): ratio for rows, name, _, ratio in comparison.rows}
    assert len(by_name) == 6 and by_name[50, "pandas, by index"] == 1.0
    assert len(comparison.findings) == 2
    assert set(comparison.record["figures"]) == {"50", "30000"}
