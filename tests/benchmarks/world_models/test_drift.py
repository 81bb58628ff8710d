"""How fidelity drifts along a run, read from its folder."""

from pathlib import Path

import pytest
from testing_runs import evaluation, tiny, write_run

from wmrl_envs.benchmarks.world_models.drift import drift
from wmrl_envs.benchmarks.world_models.plots import draw_drift


def test_each_evaluation_gives_a_point_a_split(tmp_path: Path) -> None:
    records = [
        evaluation(0, [0.1, 0.5], [0.2, 0.2], predicted=0.5),
        evaluation(4, [0.1, 0.1], [], predicted=0.5, corrected=0.2),
    ]
    points = drift(write_run(tmp_path, tiny(), *records))
    assert [(p.step, p.split, p.predicted.count) for p in points] == [
        (0, "train", 2),
        (0, "test", 2),
        (4, "train", 2),
    ]
    assert [p.predicted.bias for p in points] == pytest.approx([0.2, 0.3, 0.4])
    assert points[0].corrected is None and points[2].corrected is not None
    assert points[2].corrected.bias == pytest.approx(0.1)
    assert draw_drift(points, tmp_path / "new" / "drift.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_without_a_world_model_has_no_drift(tmp_path: Path) -> None:
    assert drift(write_run(tmp_path, tiny(arm="real"), evaluation(0, [0.1], [0.2]))) == []
    assert drift(tmp_path / "absent") == []
