"""The results of a comparison as one JSON file: numbers, command, versions, machine."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from wmrl_envs.benchmarks.autoresearch.summary import ArmResult, Run
from wmrl_envs.benchmarks.provenance import provenance


def results_record(runs: Mapping[str, Sequence[Run]], command: Sequence[str]) -> dict[str, Any]:
    """Everything that is needed to quote the results and to make them again.

    Args:
        runs: The runs of each arm.
        command: The arguments after ``wmrl``.

    Returns:
        A JSON-able record: ``command``, ``date``, ``versions``, ``machine``, and for each arm its
        ``result`` (the table's row), its settings and the final scores of each seed.
    """
    return {
        **provenance(command),
        "arms": {name: _arm(arm_runs) for name, arm_runs in runs.items()},
    }


def _arm(runs: Sequence[Run]) -> dict[str, Any]:
    settings = {k: v for k, v in asdict(runs[0].config).items() if k != "seed"}
    return {
        "result": asdict(ArmResult.of(runs)),
        "seeds": {str(run.config.seed): _final(run) for run in runs},
        "settings": settings,
    }


def _final(run: Run) -> dict[str, Any]:
    last = run.evaluations[-1]
    return {
        "executions": run.costs(last).executions,
        "cpu_seconds": round(run.costs(last).cpu_seconds, 1),
        **{
            f"{split}_{field}": _mean([episode[field] for episode in last[split]])
            for split in ("train", "test")
            for field in ("reward", "position")
        },
    }


def _mean(values: Sequence[float]) -> float | None:
    """The mean to four digits; None of nothing."""
    return round(float(np.mean(values)), 4) if values else None
