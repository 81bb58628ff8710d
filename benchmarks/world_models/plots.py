"""The plots of a world model's evaluation."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from wmrl_envs.benchmarks.world_models.drift import DriftPoint
from wmrl_envs.wrappers.world_models.calibration import CalibrationPoint

__all__ = ["draw_calibration", "draw_drift"]


def draw_calibration(curve: Sequence[CalibrationPoint], title: str, path: Path) -> Path:
    """Draws the means of the measured rewards over those of the predictions, as a PNG."""
    figure, axes = _figure(1)
    axis = axes[0]
    most = max((point.count for point in curve), default=1)
    x, y = [point.predicted for point in curve], [point.measured for point in curve]
    axis.plot(x, y, lw=1.2, color="C0")
    axis.scatter(x, y, s=[12 + 60 * point.count / most for point in curve], color="C0", zorder=3)
    axis.plot((0, 1), (0, 1), color="0.6", lw=1, ls="--")
    axis.set(title=title, xlabel="mean predicted reward", ylabel="mean measured reward")
    axis.grid(alpha=0.3)
    return _save(figure, path)


def draw_drift(points: Sequence[DriftPoint], path: Path) -> Path:
    """Draws bias and rank agreement over the steps of a run, as a PNG."""
    figure, axes = _figure(2)
    for number, split in enumerate(sorted({point.split for point in points}, reverse=True)):
        own = [point for point in points if point.split == split]
        steps, label = [point.step for point in own], f"{split} tasks"
        raw = [point.predicted.bias for point in own]
        axes[0].plot(steps, raw, marker="o", ms=3, color=f"C{number}", label=label)
        corrected = [(p.step, p.corrected.bias) for p in own if p.corrected is not None]
        if corrected:
            text = f"{label}, corrected"
            axes[0].plot(
                *zip(*corrected, strict=True),
                marker="s",
                ms=3,
                ls=":",
                color=f"C{number}",
                label=text,
            )
        ranked = [(p.step, p.predicted.spearman) for p in own if p.predicted.spearman is not None]
        if ranked:
            axes[1].plot(*zip(*ranked, strict=True), marker="o", ms=3, color=f"C{number}")
    axes[0].axhline(0, color="0.6", lw=1, ls="--")
    axes[0].set(title="bias (predicted - measured)", xlabel="step")
    axes[1].set(title="Spearman correlation", xlabel="step")
    axes[0].legend(fontsize=8)
    return _save(figure, path)


def _figure(columns: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(4.2 * columns, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def _save(figure: Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    return path
