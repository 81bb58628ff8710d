"""The sandbox beside other ways to run a script: latency, throughput, CPU time and memory."""

import os
import platform
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from wmrl_envs.autoresearch.sandbox import Limits, Sandbox
from wmrl_envs.benchmarks.provenance import PACKAGES, provenance
from wmrl_envs.benchmarks.throughput import sandbox_contenders as ways
from wmrl_envs.benchmarks.throughput.process_cpu import cpu_seconds
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.sandbox_contenders import Contender, Setting
from wmrl_envs.benchmarks.throughput.sandbox_jobs import (
    MEMORY_PROBE,
    WORKLOADS,
    Workload,
    write_data,
)
from wmrl_envs.benchmarks.throughput.side_by_side import Cost, Samples, interleave

__all__ = ["Plan", "compare_sandboxes"]

_SEED = 0
_TWO = 2
_OVERSHOOT_LIMIT_S = 0.5


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        workloads: What is run.
        contenders: By which ways.
        rounds: Interleaved rounds; in each, every contender runs one job.
        pair_rounds: Further rounds, in which each runs ``pair_jobs`` jobs with two workers.
        pair_jobs: See above.
    """

    workloads: Sequence[Workload] = WORKLOADS
    contenders: Sequence[str] = (
        ways.COLD, ways.BUBBLEWRAP, ways.STANDARD, ways.BARE_FORK, ways.FLOOR, ways.FULL, ways.RAY,
    )  # fmt: skip
    rounds: int = 20
    pair_rounds: int = 4
    pair_jobs: int = 6

    @classmethod
    def quick(cls) -> "Plan":
        """A few seconds: two workloads, three contenders."""
        contenders = (ways.COLD, ways.BARE_FORK, ways.FULL)
        return cls(WORKLOADS[:2], contenders, rounds=3, pair_rounds=1, pair_jobs=4)


@dataclass(frozen=True)
class _Found:
    """The figures of one workload, by contender."""

    one: Mapping[str, Samples]
    two: Mapping[str, Samples]
    memory: Mapping[str, tuple[float, float]]
    skipped: Mapping[str, str] = field(default_factory=dict)


def compare_sandboxes(plan: Plan, command: Sequence[str]) -> Comparison:
    """Runs every workload by every contender, interleaved, with one worker and with two.

    Args:
        plan: How much.
        command: The arguments after ``wmrl``, for the record.

    Raises:
        SandboxUnavailable: The machine lacks a layer of isolation.
    """
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder), _SEED)
        setting = Setting(Path(folder), os.environ)
        found = {work.name: _measure(work, setting, plan) for work in plan.workloads}
    overshoot = _overshoot_s()
    return Comparison(
        title=f"A job: N = {plan.rounds} with one worker, "
        f"{plan.pair_rounds * plan.pair_jobs} with two",
        columns=("script", "run by", "p50 ms", "p95 ms", "jobs/s", "jobs/s by 2",
                 "CPU ms", "own MiB", "PSS MiB"),
        rows=[row for name, one in found.items() for row in _rows(name, one)],
        findings=[*_findings(found), f"A timeout is overshot by {overshoot:.2f} s at most."],
        record=_record(command, plan, found, overshoot),
    )  # fmt: skip


def _measure(workload: Workload, setting: Setting, plan: Plan) -> _Found:
    reasons = {name: ways.reason_against(name) for name in plan.contenders}
    skipped = {name: reason for name, reason in reasons.items() if reason is not None}
    with ExitStack() as stack:
        running = {
            name: stack.enter_context(ways.starting(name, setting, workload))
            for name in plan.contenders
            if name not in skipped and _takes_part(name, workload)
        }
        memory = {name: _memory_mb(one.run(workload.code + MEMORY_PROBE, 1, 1)[0])
                  for name, one in running.items()}  # fmt: skip
        one = {name: partial(_cost, each, workload, 1, 1) for name, each in running.items()}
        two = {
            name: partial(_cost, each, workload, plan.pair_jobs, _TWO)
            for name, each in running.items()
        }
        return _Found(
            interleave(one, plan.rounds), interleave(two, plan.pair_rounds), memory, skipped
        )


def _takes_part(name: str, workload: Workload) -> bool:
    """The floor of isolation is an empty script in a server that has imported nothing."""
    return name != ways.FLOOR or workload is WORKLOADS[0]


def _cost(contender: Contender, workload: Workload, jobs: int, workers: int) -> Cost:
    cpu, wall = cpu_seconds(contender.roots), time.perf_counter()
    contender.run(workload.code, jobs, workers)
    wall = time.perf_counter() - wall
    return Cost(wall, cpu_seconds(contender.roots) - cpu, jobs)


def _memory_mb(rollup: bytes) -> tuple[float, float]:
    """MiB that a process has for itself, and its proportional share of all that it maps."""
    kib = {key: int(value) for key, value in re.findall(r"(\w+): +(\d+) kB", rollup.decode())}
    return (kib["Private_Dirty"] + kib["Private_Clean"]) / 1024, kib["Pss"] / 1024


def _overshoot_s() -> float:
    """The most by which one of five endless scripts outlives its wall time."""
    limits = Limits(wall_s=_OVERSHOOT_LIMIT_S)
    with Sandbox(preload=()) as sandbox:
        walls = [sandbox.run("while True: pass", limits=limits).wall_s for _ in range(5)]
    return max(walls) - _OVERSHOOT_LIMIT_S


def _rows(workload: str, found: _Found) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = [
        (workload, name, 1e3 * one.wall_quantile(0.5), 1e3 * one.wall_quantile(0.95), one.rate,
         found.two[name].rate, 1e3 * _cpu_s(one), *found.memory[name])
        for name, one in found.one.items()
    ]  # fmt: skip
    blank = float("nan")
    return rows + [(workload, f"{n}: {why}", *[blank] * 7) for n, why in found.skipped.items()]


def _findings(found: Mapping[str, _Found]) -> list[str]:
    return [finding for name, one in found.items() for finding in _ratios(name, one)]


def _ratios(workload: str, found: _Found) -> list[str]:
    """Full isolation beside cold Python, the bare fork, and itself with one worker."""
    cold, bare, full = (found.one.get(name) for name in (ways.COLD, ways.BARE_FORK, ways.FULL))
    if cold is None or bare is None or full is None:
        return []
    first = (
        f"{workload}: full isolation runs {full.rate / cold.rate:.1f} times the jobs/s of cold "
        f"Python for 1/{_cpu_s(cold) / _cpu_s(full):.1f} of its CPU time; its p50 is "
        f"{full.wall_quantile(0.5) / bare.wall_quantile(0.5):.2f} times, its CPU time "
        f"{_cpu_s(full) / _cpu_s(bare):.2f} times the bare fork's; two workers run "
        f"{found.two[ways.FULL].rate / full.rate:.2f} times the jobs/s of one."
    )
    floor = found.one.get(ways.FLOOR)
    if floor is None:
        return [first]
    second = (
        f"{workload}: the same layers around an interpreter that has imported nothing take "
        f"{_cpu_s(floor) / _cpu_s(full):.2f} of the CPU time."
    )
    return [first, second]


def _cpu_s(samples: Samples) -> float:
    """Mean CPU seconds a job: the kernel counts other processes' in steps too coarse for one."""
    return sum(cost.cpu_s for cost in samples.costs) / sum(cost.units for cost in samples.costs)


def _record(
    command: Sequence[str], plan: Plan, found: Mapping[str, _Found], overshoot: float
) -> dict[str, Any]:
    origin = provenance(command, (*PACKAGES, "scipy", "ray"))
    return {
        **origin,
        "machine": f"{origin['machine']}, kernel {platform.release()}",
        "seed": _SEED,
        "blas_threads": 1,
        "rounds": plan.rounds,
        "jobs_with_two_workers": plan.pair_rounds * plan.pair_jobs,
        "timeout_overshoot_s": overshoot,
        "figures": {name: _figures(one) for name, one in found.items()},
    }


def _figures(found: _Found) -> dict[str, Any]:
    by_name: dict[str, Any] = {
        name: {
            "one_worker": {**one.record(), "cpu_s": _cpu_s(one)},
            "two_workers": {**found.two[name].record(), "cpu_s": _cpu_s(found.two[name])},
            "own_mb": found.memory[name][0],
            "pss_mb": found.memory[name][1],
        }
        for name, one in found.one.items()
    }
    return by_name | {name: {"skipped": reason} for name, reason in found.skipped.items()}
