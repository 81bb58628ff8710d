"""Run folders as they are written by training, without training."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from testing_runs import tiny

from wmrl_envs.benchmarks.autoresearch.records import Costs, append_line, write_costs

ATTACK = "</script></pre><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
STEPS = (0, 2, 4)


def write_arm(folder: Path, arm: str, seed: int, last: int = 4, attack: str = "") -> Path:
    """Writes a run of the main job; the longer it trained, the better it is."""
    folder.mkdir(parents=True)
    tiny(arm=arm, seed=seed, steps=4).write(folder / "config.json")
    generator = np.random.default_rng(seed)
    predicts = arm not in ("real", "anchors")
    if predicts:
        write_costs(folder / "log_costs.json", Costs(6, 3.0), 6)
    for step in range(1, last + 1):
        append_line(folder / "steps.jsonl", _step(step, arm))
    for step in [s for s in STEPS if s <= last]:
        spent = {"executions": 10 * step, "execution": 5.0 * step, "world_model": 0.5}
        record: dict[str, Any] = {"step": step, "costs": {**spent, "generation": 1.0}}
        for split in ("train", "test"):
            record[split] = [
                _episode(generator, f"{split}-{i % 3}{attack}", step, predicts, attack)
                for i in range(12)
            ]
        append_line(folder / "evaluations.jsonl", record)
    return folder


def _step(step: int, arm: str) -> dict[str, Any]:
    record: dict[str, Any] = {
        "step": step,
        "costs": {"executions": 5 * step, "execution": 2.5 * step},
        "rollout/reward_mean": 0.4 + 0.05 * step,
    }
    if arm == "wmrl":
        found = {"mean_residual": 0.1 / step, "anchor_weight": 1.5, "agreement": 0.5}
        record["correction"] = found
    return record


def _episode(
    generator: np.random.Generator, task: str, step: int, predicts: bool, attack: str
) -> dict[str, Any]:
    reward = float(np.clip(0.3 + 0.1 * step + 0.1 * generator.normal(), 0, 1))
    predicted = {"predicted": min(1.0, reward + 0.1), "corrected": reward} if predicts else {}
    code = f"# step {step}\nprint({reward:.3f})\n{attack}"
    status = "valid" if reward > 0.4 else f"runtime_error{attack}"
    return {"task": task, "reward": reward, "status": status, "code": code, **predicted}


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Writes a JSON Lines file of any shape."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
