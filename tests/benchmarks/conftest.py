"""The main job on an instant sandbox."""

import pytest
import torch
from testing_runs import DeadSandbox, InstantSandbox

from wmrl_envs.benchmarks.autoresearch import setup


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs execute their programs at once, without a process."""
    torch.set_num_threads(1)
    monkeypatch.setattr(setup, "Sandbox", InstantSandbox)


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox fails on every program."""
    torch.set_num_threads(1)
    monkeypatch.setattr(setup, "Sandbox", DeadSandbox)
