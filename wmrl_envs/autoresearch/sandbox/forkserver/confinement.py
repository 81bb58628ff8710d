"""The job's process gives up, step by step, all that it does not need; then it runs the script."""

import json
import os
import resource
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

from . import landlock, seccomp
from . import primitives as kernel
from .config import ServerConfig
from .failure import describe
from .namespaces import join
from .rootfs import DEVICES, WORK, WRITABLE
from .script import run_script

__all__ = ["READY", "Confinement", "Given", "run_confined"]

READY: Final = b"OK"
"""What the setup pipe carries once every layer is on; the process's peak KiB so far follow it."""

_SETUP, _RULESET = 200, 201
_READABLE = ("/etc/passwd", "/etc/group", "/sys/devices/system/cpu")
_READABLE_ON_HOST = (
    "/etc/passwd", "/etc/group", "/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo",
    "/proc/stat", "/proc/sys/vm/overcommit_memory",
)  # fmt: skip


class Given(NamedTuple):
    """Descriptors that a job's process is given; without Landlock there is no ruleset."""

    stdout: int
    stderr: int
    setup: int
    ruleset: int | None = None


@dataclass(frozen=True)
class Confinement:
    """What one job's process is confined by, besides what all jobs of the server share.

    Attributes:
        work: The working directory, which holds the script.
        entry: The script's file name.
        seed: Seed of the generators.
        limits: The job's limits, as in ``wmrl_envs.autoresearch.sandbox.Limits``.
        environment: The whole environment of the job.
        readable: Pairs of a path and its Landlock right, besides those that every job has.
        other_processes: Processes that count towards the limit and are not the job's.
    """

    work: str
    entry: str
    seed: int
    limits: dict[str, Any]
    environment: dict[str, str]
    readable: tuple[tuple[str, int], ...]
    other_processes: int

    @property
    def in_private_root(self) -> bool:
        """True if no path of the host is in view."""
        return self.work == WORK

    def build_ruleset(self, config: ServerConfig) -> int | None:
        """A descriptor of the Landlock rules; None where that layer is off."""
        if "landlock" not in config.layers:
            return None
        return landlock.create(_rules(self))


def run_confined(
    plan: Confinement, config: ServerConfig, given: Given, supervisor: int | None = None
) -> NoReturn:
    """Confines this process and runs the script.

    ``supervisor`` is a pidfd of a process whose namespaces are to be joined first.
    The setup pipe gets :data:`READY` once every layer is on, or a JSON object that says what
    failed.
    """
    try:
        os.setsid()
        if supervisor is not None:
            join(supervisor, config.drop_uid)
        _own_descriptors(given)
        kernel.die_with_parent()
        _confine(plan, config)
        os.write(_SETUP, READY + str(_peak_kib()).encode())
    except BaseException as error:
        os.dup2(given.setup, _SETUP)
        os.write(_SETUP, json.dumps(describe(error)).encode()[:4096])
        os._exit(71)
    os.close(_SETUP)
    run_script(os.path.join(plan.work, plan.entry), plan.seed, plan.limits["threads"])


def _own_descriptors(given: Given) -> None:
    """Leaves 0, 1, 2 and what set-up needs open: all else that is inherited leads to the server."""
    os.dup2(given.setup, _SETUP, inheritable=False)
    if given.ruleset is not None:
        os.dup2(given.ruleset, _RULESET, inheritable=False)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(given.stdout, 1)
    os.dup2(given.stderr, 2)
    os.closerange(3, _SETUP)
    os.closerange(_RULESET + 1, max(os.sysconf("SC_OPEN_MAX"), 4096))


def _confine(plan: Confinement, config: ServerConfig) -> None:
    os.chdir(plan.work)
    if config.in_namespaces:
        kernel.drop_capabilities()
    os.environ.clear()
    os.environ.update(plan.environment)
    _volunteer_for_oom()
    if "rlimits" in config.layers:
        kernel.limit_resources(_resource_limits(plan))
    kernel.no_new_privileges()
    if "landlock" in config.layers:
        if plan.in_private_root:
            landlock.allow(_RULESET, "/proc", landlock.READ)  # mounted after the rules were made
        landlock.restrict(_RULESET)
        os.close(_RULESET)
    if "seccomp" in config.layers:
        seccomp.install(config.seccomp_program)


def _peak_kib() -> int:
    """The highest resident set of this process so far: what the fork has lent it, at its start."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _volunteer_for_oom() -> None:
    """A host out of memory takes the job first, not the trainer."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _resource_limits(plan: Confinement) -> dict[str, int]:
    limits = plan.limits
    return {
        "core": 0,
        "msgqueue": 0,
        "memlock": 0,
        "cpu": int(limits["cpu_s"]) + 1,
        "data": limits["data_mb"] << 20,
        "fsize": limits["file_mb"] << 20,
        "nproc": limits["processes"] + plan.other_processes,
        "nofile": limits["open_files"],
    }


def _rules(plan: Confinement) -> list[tuple[str, int]]:
    inside = plan.in_private_root
    writable = WRITABLE if inside else (plan.work,)
    rules = [(path, landlock.WRITE) for path in (*writable, "/dev/null")]
    if inside:
        rules.append(("/", landlock.LIST))
    rules += [(path, landlock.READ) for path in (_READABLE if inside else _READABLE_ON_HOST)]
    rules += [(f"/dev/{name}", landlock.READ) for name in DEVICES]
    return [*rules, *plan.readable]
