"""Sandboxes that the tests share, because a server's imports are what takes long."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wmrl_envs.autoresearch.sandbox import Limits, Sandbox

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Full isolation around numpy alone."""
    with Sandbox(preload=("numpy",), limits=Limits(wall_s=20, cpu_s=20)) as opened:
        yield opened


@pytest.fixture(scope="session")
def cold_sandbox() -> Iterator[Sandbox]:
    """Full isolation by bubblewrap."""
    with Sandbox("bubblewrap", limits=Limits(wall_s=60, cpu_s=20)) as opened:
        yield opened


@pytest.fixture(params=["forkserver", "bubblewrap"])
def either_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Full isolation by each backend in turn."""
    name = "sandbox" if request.param == "forkserver" else "cold_sandbox"
    found: Sandbox = request.getfixturevalue(name)
    return found


@pytest.fixture(scope="session")
def data_science_sandbox() -> Iterator[Sandbox]:
    """Full isolation around the default modules."""
    with Sandbox(limits=Limits(wall_s=60, cpu_s=60)) as opened:
        yield opened
