"""How often the expert succeeds: a table, and a record to quote."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.libero import stock
from wmrl_envs.libero.demonstrations import Demonstration
from wmrl_envs.libero.initial_states import resolve_split

__all__ = ["expert_record", "expert_table"]

_SPLITS = ("train", "heldout")


def expert_record(
    demonstrations: Sequence[Demonstration], command: Sequence[str]
) -> dict[str, Any]:
    """The numbers of an evaluation, with command and versions.

    Args:
        demonstrations: The episodes, successful or not.
        command: The arguments after ``wmrl``.

    Returns:
        A JSON-able record: ``success`` overall, and ``tasks`` by instruction and split, each with
        episodes, successes, mean and largest number of steps and the failed initial states.
    """
    packages = ("wmrl-envs", "gymnasium", *stock.versions())
    return {
        **provenance(command, packages),
        "success": {split: _summary(_of(demonstrations, split)) for split in _SPLITS},
        "tasks": {
            str(task): {
                "instruction": _task(demonstrations, task)[0].instruction,
                **{split: _summary(_of(_task(demonstrations, task), split)) for split in _SPLITS},
            }
            for task in _tasks(demonstrations)
        },
    }


def expert_table(demonstrations: Sequence[Demonstration]) -> Table:
    """One row a task, then all; failures on purpose do not count."""
    demonstrations = [demo for demo in demonstrations if demo.recipe.failure is None]
    table = Table("task", "instruction", "train", "held out", "steps", "longest")
    for task in _tasks(demonstrations):
        chosen = _task(demonstrations, task)
        table.add_row(str(task), chosen[0].instruction, *_cells(chosen))
    table.add_section()
    table.add_row("all", "", *_cells(demonstrations))
    return table


def _cells(demonstrations: Sequence[Demonstration]) -> list[str]:
    summaries = [_summary(_of(demonstrations, split)) for split in _SPLITS]
    rates = [f"{s['successes']}/{s['episodes']}" if s["episodes"] else "–" for s in summaries]
    steps = [len(demonstration) for demonstration in demonstrations]
    return [*rates, f"{sum(steps) / len(steps):.0f}", str(max(steps))]


def _summary(demonstrations: Sequence[Demonstration]) -> dict[str, Any]:
    steps = [len(demonstration) for demonstration in demonstrations]
    failed = [demo.recipe.name for demo in demonstrations if not demo.success]
    return {
        "episodes": len(steps),
        "successes": len(steps) - len(failed),
        "mean_steps": round(sum(steps) / len(steps), 1) if steps else None,
        "most_steps": max(steps, default=None),
        "failed": failed,
    }


def _tasks(demonstrations: Sequence[Demonstration]) -> list[int]:
    return sorted({demonstration.recipe.task_id for demonstration in demonstrations})


def _task(demonstrations: Sequence[Demonstration], task_id: int) -> list[Demonstration]:
    return [demo for demo in demonstrations if demo.recipe.task_id == task_id]


def _of(demonstrations: Sequence[Demonstration], split: str) -> list[Demonstration]:
    states = resolve_split(split, 50)
    return [demo for demo in demonstrations if demo.recipe.init_state_id in states]
