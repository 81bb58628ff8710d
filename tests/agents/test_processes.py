"""Data-parallel GRPO: the step of many processes is that of one on the whole batch."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import testing_grpo_processes as script

from wmrl_envs.agents import GRPO, LanguageModelPolicy
from wmrl_envs.agents.processes import Processes

Results = list[dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What two processes on this machine's CPU computed, by rank."""
    folder, path = tmp_path_factory.mktemp("two"), Path(script.__file__)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launch, str(path), str(folder)], capture_output=True, text=True, timeout=240,
        env={**os.environ, "PYTHONPATH": str(path.parent), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [dict(np.load(folder / f"rank{rank}.npz")) for rank in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("normalization", script.NORMALIZATIONS)
def test_two_processes_follow_the_gradient_of_one(two: Results, normalization: str) -> None:
    """Rewards are scaled over both, rows nobody graded are left out, lengths and turns differ."""
    one = script.gradients(None, normalization)
    assert np.abs(one).max() > 1e-2
    for found in two:
        np.testing.assert_allclose(found[normalization], one, atol=1e-6, rtol=0)


@pytest.mark.slow
def test_processes_hold_the_same_policy_and_play_different_groups(two: Results) -> None:
    np.testing.assert_array_equal(two[0]["whole"], two[1]["whole"])
    assert two[0]["tokens"] == two[1]["tokens"]
    groups = np.concatenate([np.unique(found["seeds"]) for found in two])
    assert sorted(groups) == list(range(3_000_000, 3_000_020))


@pytest.mark.slow
def test_two_processes_resume_bit_for_bit(two: Results) -> None:
    """Wrapper states and generators differ between processes; one file holds both."""
    for found in two:
        np.testing.assert_array_equal(found["whole"], found["resumed"])


class Imagined:
    """Stands for an accelerator of the given kind."""

    process_index, num_processes, device = 0, 2, None

    def __init__(self, kind: str) -> None:
        self.distributed_type = type("Kind", (), {"value": kind})


def test_sharded_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="the whole policy in every process, got the type FSDP"):
        Processes(Imagined("FSDP"))  # type: ignore[arg-type]


def test_a_checkpoint_of_one_process_needs_one(
    make_policy: Callable[..., LanguageModelPolicy], letter_env: Any, tmp_path: Path
) -> None:
    from wmrl_envs.agents import checkpoint

    GRPO(make_policy(), letter_env(8)).save(tmp_path / "model.pt")
    state = checkpoint.read(tmp_path / "model.pt")
    checkpoint.write(tmp_path / "two.pt", {**state, "other_processes": [state["progress"]]})
    with pytest.raises(ValueError, match="as many processes as the saved run, 2, got 1"):
        GRPO.load(tmp_path / "two.pt", policy=make_policy(), envs=letter_env(8))
