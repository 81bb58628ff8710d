"""Playing a policy on tasks, and what its scores amount to."""

from pathlib import Path

import pytest
import testing_formats
import testing_tasks

from wmrl_envs.autoresearch import load_task
from wmrl_envs.autoresearch.grading import GradeStatus
from wmrl_envs.benchmarks.autoresearch.scoring import make_sample


def test_a_valid_score_has_a_position_a_reward_and_a_medal(tmp_path: Path) -> None:
    task = testing_tasks.make_task(tmp_path / "toy")
    sample = make_sample(task, GradeStatus.VALID, 0.9)
    assert (sample.position, sample.reward, sample.medal) == (1.0, 1.0, "gold")
    assert (sample.modality, sample.category, sample.gap) == ("tabular", "binary", None)
    middle = make_sample(task, GradeStatus.VALID, 0.7)
    assert (middle.position, middle.reward, middle.medal) == (0.75, 0.875, "")


@pytest.mark.parametrize(
    ("status", "reward"),
    [(GradeStatus.MALFORMED, 0.0), (GradeStatus.TIMEOUT, 0.1), (GradeStatus.NO_SUBMISSION, 0.2)],
)
def test_a_failure_counts_zero(tmp_path: Path, status: GradeStatus, reward: float) -> None:
    sample = make_sample(testing_tasks.make_task(tmp_path / "toy"), status, None)
    assert (sample.position, sample.reward, sample.medal) == (0.0, reward, "")
    assert sample.score is None and sample.status == status.value


def test_a_task_of_dsbench_has_a_gap_and_no_medals(tmp_path: Path) -> None:
    task = load_task(testing_formats.write_dsbench(tmp_path), gap=(0.9, 0.5), metric="accuracy")
    sample = make_sample(task, GradeStatus.VALID, 0.7)
    assert sample.gap == pytest.approx(0.5) and sample.medal == ""
    assert make_sample(task, GradeStatus.MEMORY, None).gap == 0.0
