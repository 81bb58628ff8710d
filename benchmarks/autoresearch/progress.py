"""Shows how far runs are by reading their folders, whichever process writes them."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from wmrl_envs.benchmarks.autoresearch.records import read_lines

_INTERVAL_S = 1.0
_FILES = ("steps.jsonl", "evaluations.jsonl")


class RunProgress:
    """One bar a run: its step, newest rewards, anchors, correction and executions.

    Args:
        console: Where to draw.
        folders: The run folders by the names to show.
        steps: Steps of a run.
    """

    def __init__(self, console: Console, folders: Mapping[str, Path], steps: int) -> None:
        self._folders = folders
        self._sizes: dict[str, tuple[int, ...]] = {}
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("step {task.completed}/{task.total}"),
            TextColumn("{task.fields[note]}", style="dim"),
            TimeElapsedColumn(),
            console=console,
        )
        self._ids: dict[str, TaskID] = {
            name: self._bars.add_task(name, total=steps, note="waiting", start=False)
            for name in folders
        }

    def __enter__(self) -> "RunProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.refresh()
        self._bars.stop()

    def refresh(self) -> None:
        """Reads every folder once."""
        for name, folder in self._folders.items():
            if not (folder / "config.json").exists():
                continue
            bar = self._ids[name]
            self._bars.start_task(bar)
            # Reading competes with training for the processors: only what has grown is read.
            sizes = tuple(_size(folder / file) for file in _FILES)
            if self._sizes.get(name) != sizes:
                self._sizes[name] = sizes
                step, note = _state(folder)
                self._bars.update(bar, completed=step, note=note)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _state(folder: Path) -> tuple[int, str]:
    steps, evaluations = (read_lines(folder / file) for file in _FILES)
    note = _step_note(steps[-1]) if steps else "starting"
    if evaluations:
        rewards = [episode["reward"] for episode in evaluations[-1]["train"]]
        mean = f"{sum(rewards) / len(rewards):.2f}" if rewards else "nothing"
        note += f", evaluated {mean}"
    return (steps[-1]["step"] if steps else 0), note


def _step_note(record: Mapping[str, Any]) -> str:
    """Reward, share of anchors, what the correction does, executions and their seconds."""
    costs, correction = record.get("costs"), record.get("correction") or {}
    parts = [
        _figure("reward", record.get("rollout/reward_mean")),
        _figure("success", record.get("rollout/success")),
        _figure("measured", record.get("rollout/measured_share"), ".0%"),
        _figure("slope", correction.get("slope")),
        _figure("anchor weight", correction.get("anchor_weight")),
    ]
    if costs is not None:
        parts.append(f"{costs['executions']} executions")
        parts.append(_figure("in", costs.get("execution"), ".0f", " s"))
    return ", ".join(filter(None, parts))


def _figure(name: str, value: float | None, form: str = ".2f", unit: str = "") -> str:
    return "" if value is None else f"{name} {value:{form}}{unit}"


@contextmanager
def follow_in_thread(console: Console, folders: Mapping[str, Path], steps: int) -> Iterator[None]:
    """Follows runs from a thread while the caller trains."""
    done = threading.Event()
    with RunProgress(console, folders, steps) as progress:

        def follow() -> None:
            while not done.wait(_INTERVAL_S):
                progress.refresh()

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
