"""The main job's promise, in small: a policy learns from rewards most of which nobody measured."""

from pathlib import Path

import numpy as np
import pytest

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.records import read_lines
from wmrl_envs.benchmarks.autoresearch.train import train

CONFIG = RunConfig(
    arm="wmrl",
    steps=12,
    groups=8,
    anchors=0.125,
    log_episodes=64,
    train_tasks=("diabetes", "breast-cancer", "digits"),
    test_tasks=("olive-area",),
    eval_episodes=0,
    final_episodes=32,
)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.model
@pytest.mark.sandbox
def test_an_eighth_of_the_groups_is_enough_to_learn_from(tmp_path: Path) -> None:
    train(CONFIG, tmp_path)
    start, end = (
        float(np.mean([episode["reward"] for episode in evaluation["train"]]))
        for evaluation in read_lines(tmp_path / "evaluations.jsonl")
    )
    assert end > start + 0.1
    executions = read_lines(tmp_path / "steps.jsonl")[-1]["costs"]["executions"]
    assert executions <= CONFIG.steps * CONFIG.group_size
