"""The discrete-event simulation of asynchronous GRPO on a cluster (SimPy)."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from wmrl_envs.benchmarks.scaling.gpus import SharedGpus
from wmrl_envs.benchmarks.scaling.workload import Arm, Workload

__all__ = ["Outcome", "simulate"]

Process = Generator[simpy.Event, Any, Any]


@dataclass(frozen=True)
class Outcome:
    """What a simulated run takes.

    Attributes:
        step_seconds: Wall seconds a step, once the pipeline is full.
        hours: Wall hours of the whole run.
        gpu_hours: The same times the GPUs: what waits is paid for.
        gpu_use: Share of the GPUs' time that is work.
        slot_use: Share of the slots' time that is execution.
        wait_seconds: Mean seconds that an execution waited for its slot.
        staleness: Mean number of updates between a group's start and its use.
    """

    step_seconds: float
    hours: float
    gpu_hours: float
    gpu_use: float
    slot_use: float
    wait_seconds: float
    staleness: float


def simulate(
    workload: Workload, arm: Arm, *, measured: int = 60, seed: int = 0, slots: int | None = None
) -> Outcome:
    """Simulates the start of a run and extends its steady part to the whole.

    Args:
        workload: The run and the cluster.
        arm: ``real`` executes every turn; ``world-model`` predicts every turn; ``wmrl`` predicts
            every turn and executes those of the anchor groups besides.
        measured: Steps that are simulated after the pipeline has filled.
        seed: Seeds all durations. Arms with the same seed generate the same.
        slots: Sandbox slots; None takes the workload's.
    """
    warm = 2 * (workload.staleness + 1)
    run = _Run(workload, arm, warm + measured, seed, workload.slots if slots is None else slots)
    return run.outcome(warm)


class _Run:
    def __init__(self, workload: Workload, arm: Arm, steps: int, seed: int, slots: int) -> None:
        self._workload, self._arm, self._steps, self._slots = workload, arm, steps, slots
        self._generator = np.random.default_rng(seed)
        self._env = env = simpy.Environment()
        self._gpus = SharedGpus(env, workload.gpus, workload.stream_share)
        self._sandbox = simpy.Resource(env, slots)
        self._anchor_room = simpy.Resource(env, workload.anchor_cap)
        self._finished = simpy.FilterStore(env)
        self._taken = 0
        self._version = 0
        self._moved = env.event()
        self._ends: list[tuple[float, float, float]] = []
        self._waits: list[float] = []
        self._ages: list[int] = []
        self._executed = self._updated = self._since = 0.0
        self._occupied = 0
        env.process(self._produce())
        env.run(until=env.process(self._train()))

    def outcome(self, warm: int) -> Outcome:
        """The figures of the steps after the first ``warm`` ones."""
        workload = self._workload
        start = self._ends[warm - 1] if warm else (0.0, 0.0, 0.0)
        wall, busy, executed = (b - a for a, b in zip(start, self._ends[-1], strict=True))
        step = wall / (self._steps - warm)
        hours = (start[0] + step * (workload.steps - warm)) / 3600
        return Outcome(
            step_seconds=step,
            hours=hours,
            gpu_hours=hours * workload.gpus,
            gpu_use=busy / (wall * workload.gpus),
            slot_use=executed / (wall * self._slots),
            wait_seconds=float(np.mean(self._waits)) if self._waits else 0.0,
            staleness=float(np.mean(self._ages)),
        )

    def _train(self) -> Process:
        workload = self._workload
        work = workload.trajectories * workload.update_gpu_seconds
        for _ in range(self._steps):
            for _ in range(workload.groups):
                group = yield self._next()
                self._taken += 1
                self._ages.append(self._version - group.item)
            self._gpus.pause()
            yield self._env.timeout(work / workload.gpus)
            self._updated += work
            self._gpus.resume()
            self._version += 1
            self._occupy(0)
            self._ends.append((self._env.now, self._gpus.busy + self._updated, self._executed))
            moved, self._moved = self._moved, self._env.event()
            moved.succeed()

    def _next(self) -> simpy.Event:
        """The group that started first, or, out of order, the first that is finished."""
        taken, in_order = self._taken, self._workload.in_order
        return self._finished.get(lambda group: not in_order or group.priority == taken)

    def _produce(self) -> Process:
        """Starts groups as far ahead as staleness allows."""
        workload, number = self._workload, 0
        while True:
            while number >= (self._version + workload.staleness + 1) * workload.groups:
                yield self._moved
            self._env.process(self._group(number))
            number += 1

    def _executes(self, number: int) -> bool:
        """Whether a group is executed; anchor groups come at equal distances."""
        if self._arm != "wmrl":
            return self._arm == "real"
        share = self._workload.anchors
        return math.floor((number + 1) * share + 1e-9) > math.floor(number * share + 1e-9)

    def _group(self, number: int) -> Process:
        started_at, executes = self._version, self._executes(number)
        workload = self._workload
        shape = (workload.group_size, workload.turns)
        turns = self._draw(workload.turn_gpu_seconds, workload.turn_spread, shape)
        runs = self._draw(workload.execution_seconds, workload.execution_spread, shape)
        runs = np.minimum(runs, workload.time_limit)
        yield self._env.all_of(
            [
                self._env.process(self._trajectory(turns[i], runs[i], executes))
                for i in range(workload.group_size)
            ]
        )
        self._finished.put(simpy.PriorityItem(number, started_at))

    def _draw(self, mean: float, spread: float, shape: tuple[int, int]) -> np.ndarray:
        normal = self._generator.normal(size=shape)
        return mean * np.exp(spread * normal - spread**2 / 2)

    def _trajectory(self, turns: np.ndarray, runs: np.ndarray, executes: bool) -> Process:
        for generation, execution in zip(turns, runs, strict=True):
            yield self._gpus.work(float(generation))
            grades = []
            if self._arm != "real":
                grades.append(self._gpus.work(self._workload.grade_gpu_seconds))
            if executes:
                grades.append(self._env.process(self._execute(float(execution))))
            yield self._env.all_of(grades)

    def _execute(self, seconds: float) -> Process:
        asked = self._env.now
        if self._arm == "wmrl":
            with self._anchor_room.request() as room:
                yield room
                yield from self._in_slot(asked, seconds)
        else:
            yield from self._in_slot(asked, seconds)

    def _in_slot(self, asked: float, seconds: float) -> Process:
        with self._sandbox.request() as slot:
            yield slot
            self._waits.append(self._env.now - asked)
            self._occupy(1)
            yield self._env.timeout(seconds)
            self._occupy(-1)

    def _occupy(self, change: int) -> None:
        """Adds up slot-seconds, then takes or leaves a slot."""
        self._executed += self._occupied * (self._env.now - self._since)
        self._occupied += change
        self._since = self._env.now
