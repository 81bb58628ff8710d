"""Tests of what importing the package costs and registers."""

import subprocess
import sys

import pytest

HEAVY = [
    "libero",
    "matplotlib",
    "pandas",
    "robosuite",
    "scipy",
    "sklearn",
    "tensorboard",
    "torch",
    "transformers",
]
LIGHT = [
    "wmrl_envs",
    "wmrl_envs.info",
    "wmrl_envs.spaces",
    "wmrl_envs.wrappers",
    "wmrl_envs.wrappers.vector",
    "wmrl_envs.agents",
    "wmrl_envs.agents.advantages",
    "wmrl_envs.benchmarks.cli",
]


def run_python(code: str) -> str:
    """Runs code in a fresh interpreter and returns what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", LIGHT)
def test_importing_loads_nothing_heavy(module):
    code = f"import sys, {module}; print([m for m in {HEAVY} if m in sys.modules])"
    assert run_python(code) == "[]"


def test_importing_registers_the_environment():
    code = "import gymnasium, wmrl_envs; print(gymnasium.spec('WMRL/AutoResearch-v0').id)"
    assert run_python(code) == "WMRL/AutoResearch-v0"


def test_importing_twice_does_not_complain():
    code = "import warnings; warnings.simplefilter('error'); import wmrl_envs, wmrl_envs.errors"
    assert run_python(code) == ""
