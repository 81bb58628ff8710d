"""A step of our GRPO beside one of TRL's ``GRPOTrainer``: tokens a CPU-second and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wmrl_envs.benchmarks.provenance import PACKAGES, provenance
from wmrl_envs.benchmarks.throughput.grpo_contenders import (
    CONTENDERS,
    OURS,
    TRL,
    Contender,
    Memory,
)
from wmrl_envs.benchmarks.throughput.grpo_workload import Workload
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Samples, interleave

__all__ = ["compare_grpo"]


def compare_grpo(workload: Workload, rounds: int, command: Sequence[str]) -> Comparison:
    """Measures whole steps (generation, rewards, update) on the same model and prompts.

    Each contender has a process of its own, and they make their steps in turns.

    Args:
        workload: What a step consists of.
        rounds: Interleaved steps of each, after one that warms up.
        command: The arguments after ``wmrl``, for the record.
    """
    contenders = {name: Contender(name, workload, steps=rounds + 1) for name in CONTENDERS}
    samples = interleave(contenders, rounds)
    memory = {name: contender.close() for name, contender in contenders.items()}
    return Comparison(
        title=f"A GRPO step of {workload.groups} groups of {workload.group_size}",
        columns=("learner", "tokens a CPU-second", "tokens a step", "MiB before", "MiB added"),
        rows=[_row(name, samples[name], memory[name]) for name in contenders],
        findings=[_finding(samples, memory)],
        record={
            **provenance(command, (*PACKAGES, "trl")),
            "rounds": rounds,
            "workload": asdict(workload),
            "figures": {name: _figures(samples[name], memory[name]) for name in contenders},
        },
    )


def _row(name: str, samples: Samples, memory: Memory) -> tuple[Any, ...]:
    added = memory.peak - memory.before
    return (name, 1 / samples.cpu_per_unit, _tokens(samples), memory.before, added)


def _figures(samples: Samples, memory: Memory) -> dict[str, float]:
    return {
        **samples.record(),
        "tokens_per_cpu_s": 1 / samples.cpu_per_unit,
        "tokens_per_step": _tokens(samples),
        "before_mb": memory.before,
        "peak_mb": memory.peak,
    }


def _tokens(samples: Samples) -> float:
    return sum(cost.units for cost in samples.costs) / len(samples.costs)


def _finding(samples: Mapping[str, Samples], memory: Mapping[str, Memory]) -> str:
    speed = samples[TRL].cpu_per_unit / samples[OURS].cpu_per_unit
    added = {name: memory[name].peak - memory[name].before for name in (OURS, TRL)}
    return (
        f"Ours makes {speed:.2f} times TRL's tokens a CPU-second, and takes "
        f"{added[OURS] / added[TRL]:.2f} of the memory that TRL adds to the model and the imports."
    )
