"""Simulators that the tests of LIBERO share: each takes seconds to make."""

import importlib.util
from collections.abc import Iterator

import gymnasium as gym
import pytest

import wmrl_envs  # noqa: F401
from wmrl_envs.libero.env import LiberoEnv
from wmrl_envs.libero.simulation import Simulation
from wmrl_envs.libero.suites import suite

STOVE = 2
"""The task whose simulator is made fastest; it has a fixture, a joint and a flame."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what needs a simulator where LIBERO is not installed."""
    if item.get_closest_marker("sim") and importlib.util.find_spec("libero") is None:
        pytest.skip("LIBERO is not installed: pip install 'wmrl-envs[libero]'")


@pytest.fixture(scope="session")
def simulation() -> Iterator[Simulation]:
    """The stove task, simulated; a test starts it before it looks."""
    found = Simulation(suite("libero_10")[STOVE])
    yield found
    found.close()


@pytest.fixture(scope="session")
def env() -> Iterator[LiberoEnv]:
    """The stove task with small pictures and the state; a test resets it before it looks."""
    found = gym.make(
        "WMRL/LiberoLong-v0",
        task_id=STOVE,
        observation="pixels_state",
        image_size=64,
        render_mode="rgb_array",
    ).unwrapped
    assert isinstance(found, LiberoEnv)
    yield found
    found.close()
    found.close()


@pytest.fixture(scope="session")
def blind_env() -> Iterator[LiberoEnv]:
    """The stove task, every initial state, in chunks of four steps, without pictures or text."""
    found = gym.make(
        "WMRL/LiberoLong-v0",
        task_id=STOVE,
        observation="state",
        split="all",
        action_chunk=4,
        horizon=10,
        instruction=False,
        settle=2,
    ).unwrapped
    assert isinstance(found, LiberoEnv)
    yield found
    found.close()
