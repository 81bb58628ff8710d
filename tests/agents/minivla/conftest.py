"""One small model for all tests that only look at it."""

import numpy as np
import pytest
from numpy.typing import NDArray
from testing_minivla import small_model

from wmrl_envs.agents.policies.vla.minivla.model import MiniVLA


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> MiniVLA:
    """A random MiniVLA, loaded from a run folder; not to be changed."""
    return small_model(tmp_path_factory.mktemp("minivla") / "run")


@pytest.fixture(scope="session")
def pictures() -> NDArray[np.uint8]:
    """Four pictures (4, 64, 64, 3)."""
    return np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)
