"""The comparison of ways to grade with a language model."""

import pytest

from wmrl_envs.benchmarks.throughput.small_models import tiny_model
from wmrl_envs.benchmarks.throughput.world_model import Workload, compare_grading

pytestmark = pytest.mark.model


def test_every_way_to_grade_is_measured_on_the_same_programs() -> None:
    model, tokenizer = tiny_model()
    comparison = compare_grading(
        model,
        tokenizer,
        Workload(programs=4),
        lengths=(8,),
        rounds=1,
        command=["bench", "world-model"],
        name="tiny",
    )
    assert [row[0] for row in comparison.rows] == [
        "one pass, prefix kept",
        "one pass, prefix read once",
        "one pass, own prefix",
        "JSON of 8 tokens, own prefix",
        "JSON of 8 tokens, prefix read once",
    ]
    assert all(rate > 0 for _, rate, _ in comparison.rows) and comparison.rows[0][2] == 1.0
    assert comparison.record["programs"] == 4 and comparison.record["model"] == "tiny"


def test_programs_are_different_and_the_same_each_time() -> None:
    episodes = Workload(programs=6).episodes()
    assert len({e.actions for e in episodes}) == 6 and len({e.task for e in episodes}) == 1
    assert episodes == Workload(programs=6).episodes()
