"""Every limit ends a job in its own way, and bad limits are named."""

from pathlib import Path
from typing import Any

import pytest

from wmrl_envs.autoresearch.sandbox import Job, Limits, Sandbox


@pytest.mark.parametrize(
    ("code", "limits", "status"),
    [
        ("import time; time.sleep(60)", Limits(wall_s=0.3), "timeout"),
        ("while True: pass", Limits(cpu_s=0.5), "cpu"),
        ("x = bytearray(b'x' * (600 << 20))", Limits(memory_mb=200), "memory"),
        ("x = bytearray(600 << 20)", Limits(data_mb=300), "memory"),
        ("import numpy; numpy.ones(1 << 27)", Limits(data_mb=300), "memory"),
        ("while True: print('x' * 1000)", Limits(output_mb=1), "output"),
        ("open('x', 'wb').write(bytes(3 << 20))", Limits(file_mb=2), "error"),
        ("raise SystemExit(3)", Limits(), "error"),
        ("import ctypes; ctypes.string_at(0)", Limits(), "killed"),
        ("raise SystemExit(0)", Limits(), "ok"),
    ],
)
def test_each_limit_has_its_own_status(
    either_sandbox: Sandbox, code: str, limits: Limits, status: str
) -> None:
    assert either_sandbox.run(code, limits=limits).status == status


def test_processes_of_a_job_share_its_cpu_limit(sandbox: Sandbox) -> None:
    code = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
    limits = Limits(cpu_s=1.5, wall_s=20)
    execution = sandbox.run(code, limits=limits)
    assert execution.status == "cpu"
    assert execution.cpu_s < 4 * limits.cpu_s  # twice as much if each of the eight had its own


def test_a_timeout_is_met_within_three_tenths_of_a_second(sandbox: Sandbox) -> None:
    overshoots = []
    for _ in range(3):
        execution = sandbox.run("while True: pass", limits=Limits(wall_s=0.5))
        overshoots.append(execution.wall_s - 0.5)
    assert min(overshoots) < 0.3


def test_head_and_tail_of_the_output_survive(sandbox: Sandbox) -> None:
    code = "print('HEAD')\nfor i in range(50000): print(i)\nraise KeyError('the reason')"
    execution = sandbox.run(code, limits=Limits(tail_bytes=1000))
    assert execution.stdout.startswith("HEAD\n")
    assert "bytes left out" in execution.stdout
    assert execution.stdout.endswith("49999\n")
    assert execution.stderr.endswith("KeyError: 'the reason'\n")


def test_an_artifact_over_its_limit_is_not_read(sandbox: Sandbox) -> None:
    code = "open('submission.csv', 'wb').write(bytes(2 << 20))"
    execution = sandbox.run(code, limits=Limits(artifact_mb=1))
    assert execution.artifact is None
    assert "too large" in (execution.artifact_error or "")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"wall_s": 0}, "wall_s"),
        ({"cpu_s": float("nan")}, "cpu_s"),
        ({"memory_mb": -1}, "memory_mb"),
        ({"wall_s": float("inf")}, "wall_s"),
        ({"disk_mb": 1.5}, "disk_mb"),
        ({"threads": "2"}, "threads"),
        ({"wall_s": True}, "wall_s"),
    ],
)
def test_a_bad_limit_is_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Limits(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": {"../x": b""}},
        {"files": {"/x": b""}},
        {"files": {"solution.py": b""}},
        {"files": {"": b""}},
        {"ro_data": {"/tmp": "data"}},
        {"ro_data": {"/tmp": "/proc/x"}},
        {"ro_data": {"/tmp": "/data/../etc"}},
        {"artifact": "a/b"},
        {"artifact": ".."},
        {"hidden": ["private"]},
        {"hidden": "/private"},
        {"seed": -1},
    ],
)
def test_a_bad_job_is_refused_before_anything_runs(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must"):
        Job("pass", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"code": b"pass"}, "code must be a str"),
        ({"files": {"x": "text"}}, "files must hold bytes, got 'text' for 'x'"),
        ({"limits": {"wall_s": 1}}, "limits must be Limits or None"),
        ({"seed": 1.5}, "seed must be an int"),
        ({"artifact": None}, "artifact must be a str"),
    ],
)
def test_a_job_of_wrong_types_is_refused_too(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Job(**{"code": "pass", **arguments})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"backend": "docker"}, "backend"),
        ({"workers": 0}, "workers"),
        ({"min_level": "none"}, "min_level"),
        ({"preload": "numpy"}, "preload"),
    ],
)
def test_a_bad_argument_of_the_sandbox_is_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Sandbox(**arguments)  # type: ignore[arg-type]


def test_missing_data_is_the_callers_error(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a directory"):
        sandbox.run("pass", ro_data={str(tmp_path / "missing"): "/data"})
