"""What holds for root holds for an ordinary user: the same tests, run by one."""

import os
import subprocess
import sys
from pathlib import Path

import as_user
import pytest

_HERE = Path(__file__).parent
_TIMEOUT_S = 900
_FILES = ("test_attacks.py", "test_hidden.py", "test_landlock_level.py")


@pytest.mark.skipif(os.getuid() != 0, reason="this run is an ordinary user's already")
@pytest.mark.timeout(_TIMEOUT_S + 60)
def test_the_same_attacks_fail_for_an_ordinary_user() -> None:
    project = str(_HERE.parents[2])
    files = [str(_HERE / name) for name in _FILES]
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-rs", "-pno:cacheprovider"]
    done = subprocess.run(
        [sys.executable, as_user.__file__, project, *pytest_command, *files],
        capture_output=True,
        text=True,
        cwd=project,
        env={**os.environ, "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "passed" in done.stdout
    assert "[1] tests/autoresearch/sandbox/test_landlock_level.py" in done.stdout  # about root
    assert "1 skipped" in done.stdout
