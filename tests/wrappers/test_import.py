"""Importing the wrappers is light."""

import subprocess
import sys

import pytest

HEAVY = ("sklearn", "scipy", "torch", "transformers", "pandas", "libero")


@pytest.mark.parametrize("module", ["wmrl_envs.wrappers", "wmrl_envs.wrappers.vector"])
def test_importing_the_wrappers_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
