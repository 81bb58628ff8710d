"""The job's process gives up, step by step, all that it does not need; then it runs the script."""

import json
import os
from dataclasses import dataclass
from typing import Any, Final

from . import landlock, seccomp, usage
from . import primitives as kernel
from .rootfs import DEVICES, WRITABLE
from .script import run_script

__all__ = ["READY", "Confinement", "SetupError", "describe", "run_confined"]

READY: Final = b"OK"
"""What the setup pipe carries once every layer is on."""

_SETUP_DESCRIPTOR = 200
_READABLE = ("/etc/passwd", "/etc/group", "/proc", "/sys/devices/system/cpu")
_READABLE_ON_HOST = (
    "/etc/passwd", "/etc/group", "/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo",
    "/proc/stat", "/proc/sys/vm/overcommit_memory",
)  # fmt: skip


class SetupError(Exception):
    """The job's process could not confine itself; ``report`` comes from :func:`describe`."""

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__(report["error"])
        self.report = report


@dataclass(frozen=True)
class Confinement:
    """What one job's process is confined by.

    Attributes:
        layers: The names of the layers to enter.
        work: The working directory, which holds the script.
        entry: The script's file name.
        seed: Seed of the generators.
        limits: The job's limits, as in ``wmrl_envs.autoresearch.sandbox.Limits``.
        environment: The whole environment of the job.
        readable: Pairs of a path and its Landlock right, besides those that every job has.
        seccomp_program: The filter, built once by the server.
        wrapped: Something else, bubblewrap, has entered the namespaces and put on the filter.
    """

    layers: frozenset[str]
    work: str
    entry: str
    seed: int
    limits: dict[str, Any]
    environment: dict[str, str]
    readable: tuple[tuple[str, int], ...]
    seccomp_program: bytes
    wrapped: bool = False


def run_confined(plan: Confinement, stdout: int, stderr: int, setup: int) -> None:
    """Confines this process and runs the script; does not return.

    ``setup`` gets :data:`READY` once every layer is on, or a JSON object that says what failed.
    """
    try:
        _own_descriptors(stdout, stderr, setup)
        kernel.die_with_parent()
        _confine(plan)
        os.write(_SETUP_DESCRIPTOR, READY)
    except BaseException as error:
        os.write(_SETUP_DESCRIPTOR, json.dumps(describe(error)).encode()[:4096])
        os._exit(71)
    os.close(_SETUP_DESCRIPTOR)
    run_script(os.path.join(plan.work, plan.entry), plan.seed, plan.limits["threads"])


def describe(error: BaseException) -> dict[str, Any]:
    """A failure of the harness as a JSON object: its text, and whether the kernel refused."""
    if isinstance(error, SetupError):
        return error.report
    refused = isinstance(error, kernel.PrimitiveError)
    text = str(error) if refused else f"{type(error).__name__}: {error}"
    return {"error": text, "refused": refused}


def _own_descriptors(stdout: int, stderr: int, setup: int) -> None:
    """Leaves 0, 1, 2 and the setup pipe open: whatever else is inherited leads to the server."""
    os.dup2(setup, _SETUP_DESCRIPTOR, inheritable=False)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.closerange(3, _SETUP_DESCRIPTOR)
    os.closerange(_SETUP_DESCRIPTOR + 1, max(os.sysconf("SC_OPEN_MAX"), 4096))


def _confine(plan: Confinement) -> None:
    if "namespaces" in plan.layers and not plan.wrapped:
        proc = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
        kernel.mount("proc", "/proc", "proc", proc)
        kernel.set_hostname(b"sandbox")
        kernel.drop_capabilities()
    elif not plan.wrapped:
        os.setsid()
    os.environ.clear()
    os.environ.update(plan.environment)
    _volunteer_for_oom()
    if "rlimits" in plan.layers:
        kernel.limit_resources(_resource_limits(plan))
    kernel.no_new_privileges()
    if "landlock" in plan.layers:
        landlock.restrict(_rules(plan))
    if "seccomp" in plan.layers and not plan.wrapped:
        seccomp.install(plan.seccomp_program)


def _volunteer_for_oom() -> None:
    """A host out of memory takes the job first, not the trainer."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _resource_limits(plan: Confinement) -> dict[str, int]:
    limits = plan.limits
    # A user namespace counts its own processes; without one, all that the user runs are counted.
    others = 0 if "namespaces" in plan.layers else usage.tasks_of_user(os.getuid())
    return {
        "core": 0,
        "msgqueue": 0,
        "memlock": 0,
        "cpu": int(limits["cpu_s"]) + 1,
        "data": limits["data_mb"] << 20,
        "fsize": limits["file_mb"] << 20,
        "nproc": limits["processes"] + others,
        "nofile": limits["open_files"],
    }


def _rules(plan: Confinement) -> list[tuple[str, int]]:
    inside = "namespaces" in plan.layers
    writable = WRITABLE if inside else (plan.work,)
    rules = [(path, landlock.WRITE) for path in (*writable, "/dev/null")]
    if inside:
        rules.append(("/", landlock.LIST))
    rules += [(path, landlock.READ) for path in (_READABLE if inside else _READABLE_ON_HOST)]
    rules += [(f"/dev/{name}", landlock.READ) for name in DEVICES]
    return [*rules, *plan.readable]
