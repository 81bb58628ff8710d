"""The comparisons of the reward path."""

from wmrl_envs.benchmarks.throughput.correction import compare_correction
from wmrl_envs.benchmarks.throughput.wrappers import compare_wrappers


def test_a_correction_step_is_compared_at_each_number_of_pairs() -> None:
    comparison = compare_correction((8, 64), rounds=2, steps=3, command=["bench"])
    assert [row[0] for row in comparison.rows] == [8, 8, 8, 64, 64, 64]
    assert all(row[2] > 0 for row in comparison.rows)
    assert comparison.record["command"] == "wmrl bench"
    assert set(comparison.record["figures"]) == {"8", "64"}


def test_wrapped_steps_are_compared_at_each_size_with_and_without_episodes_that_end() -> None:
    comparison = compare_wrappers((1, 4), rounds=2, steps=40, command=[])
    ratios = {(size, episodes, name): ratio for size, episodes, name, _, ratio in comparison.rows}
    assert len(ratios) == 12
    assert {v for (_, _, name), v in ratios.items() if name == "TransformReward"} == {1.0}
    assert len(comparison.findings) == 4
