"""The plots of a comparison: score against cost, and predicted against measured."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from wmrl_envs.benchmarks.autoresearch.arms import ARMS
from wmrl_envs.benchmarks.autoresearch.records import Costs
from wmrl_envs.benchmarks.autoresearch.summary import Run

_COLOURS = {name: f"C{i}" for i, name in enumerate(ARMS)}
_MOST_COLUMNS = 6
_BINS = np.linspace(0.0, 1.0, 6)
Runs = Mapping[str, Sequence[Run]]


def draw_all(runs: Runs, folder: Path) -> list[Path]:
    """Draws every plot as a PNG.

    Args:
        runs: The runs of each arm.
        folder: Where the files go.

    Returns:
        Their paths.
    """
    paths = [
        _draw_cost(runs, lambda c: c.executions, "executions", folder / "score_by_executions.png"),
        _draw_cost(
            runs, lambda c: c.cpu_seconds, "CPU seconds", folder / "score_by_cpu_seconds.png"
        ),
    ]
    return paths + [
        _draw_calibration(name, arm_runs[0], folder / f"calibration_{name}.png")
        for name, arm_runs in runs.items()
        if ARMS[name].world_model
    ]


def _figure(columns: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(4.2 * columns, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False, sharey=True)[0]
    return figure, list(axes)


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=130)
    return path


def _draw_cost(runs: Runs, cost: Callable[[Costs], float], label: str, path: Path) -> Path:
    figure, axes = _figure(2)
    titles = {"train": "training tasks", "test": "held-out tasks"}
    for axis, (split, title) in zip(axes, titles.items(), strict=True):
        for name, arm_runs in runs.items():
            for number, run in enumerate(arm_runs):
                graded = [e for e in run.evaluations if e[split]]
                x = [cost(run.costs(e)) for e in graded]
                y = [_mean(e[split]) for e in graded]
                text = ARMS[name].title if number == 0 else None
                axis.plot(x, y, marker="o", ms=3, lw=1.4, color=_COLOURS[name], label=text)
        axis.set(title=title, xlabel=f"{label}, world model's log included")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("mean ladder reward")
    axes[0].legend(fontsize=8)
    return _save(figure, path)


def _mean(episodes: Sequence[Mapping[str, Any]]) -> float:
    return float(np.mean([episode["reward"] for episode in episodes]))


def _draw_calibration(name: str, run: Run, path: Path) -> Path:
    shown = _spread(run.evaluations)
    figure, axes = _figure(len(shown))
    for axis, evaluation in zip(axes, shown, strict=True):
        episodes = (*evaluation["train"], *evaluation["test"])
        for field, marker in (("predicted", "o"), ("corrected", "s")):
            known = [(e[field], e["reward"]) for e in episodes if field in e]
            values, measured = np.array(known).reshape(-1, 2).T
            axis.scatter(values, measured, s=5, alpha=0.25)
            axis.plot(*_binned(values, measured), marker=marker, label=field)
        axis.plot((0, 1), (0, 1), color="0.6", lw=1, ls="--")
        axis.set(title=f"step {evaluation['step']}", xlabel="world model's reward")
    axes[0].set_ylabel("measured reward")
    axes[0].legend(fontsize=8, title=ARMS[name].title)
    return _save(figure, path)


def _spread(evaluations: Sequence[Any]) -> list[Any]:
    """At most so many as fit side by side, the first and the last among them."""
    count = min(len(evaluations), _MOST_COLUMNS)
    return [evaluations[i] for i in np.linspace(0, len(evaluations) - 1, count).round().astype(int)]


def _binned(x: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    """Means of x and y within equal bins of x."""
    index = np.clip(np.digitize(x, _BINS) - 1, 0, len(_BINS) - 2)
    full = [k for k in range(len(_BINS) - 1) if (index == k).any()]
    return [float(x[index == k].mean()) for k in full], [float(y[index == k].mean()) for k in full]
