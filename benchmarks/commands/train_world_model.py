"""``wmrl world-model train``: a progress model from demonstrations."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from tyro.conf import Positional

from wmrl_envs.benchmarks.commands.base import stopped_by_signals, usage_errors
from wmrl_envs.benchmarks.progress_bar import progress_bar

if TYPE_CHECKING:
    from wmrl_envs.benchmarks.world_models.progress_clips import ClipForm, DemonstrationClip
    from wmrl_envs.benchmarks.world_models.progress_fidelity import ClipFidelity
    from wmrl_envs.libero.demonstrations import Demonstration
    from wmrl_envs.wrappers.world_models.progress import ProgressSettings, ProgressWorldModel

__all__ = ["TrainWorldModel"]


@dataclass(frozen=True)
class TrainWorldModel:
    """Train a progress model on demonstrations and measure it on held-out initial states.

    Frames are rendered from the recorded states and kept in OUT/clips, so that a second call does
    not render them again. The model goes to OUT/model, its figures to OUT/results.json and
    OUT/table.md. Use it on LIBERO with `ProgressWorldModel.load("OUT/model")`.
    """

    kind: Positional[Literal["progress"]]
    """The kind of world model."""
    demos: Positional[Path]
    """The folder of demonstrations (`wmrl demos collect`), successes and failures."""
    out: Positional[Path]
    """The folder for clips, model and figures."""
    held_out: str = "12-15"
    """Initial states whose episodes the model is measured on and does not learn from."""
    frames: int = 8
    """Frames of an episode, evenly spread."""
    pixels: int = 128
    """The side of a rendered frame; that of the environment that the model will grade."""
    image_size: int = 64
    """The side to which the model scales frames, a multiple of 16."""
    epochs: int = 30
    """Passes over all frames."""
    batch_size: int = 64
    """Frames an optimisation step."""
    learning_rate: float = 1e-3
    """Peak learning rate."""
    collapse: Literal["final", "potential", "max"] = "final"
    """How the model turns the progress of frames into one reward."""
    seed: int = 0
    """Seed of the weights, the order and the augmentation."""
    threads: int = 1
    """Threads of PyTorch."""

    def run(self, console: Console) -> int:
        """Renders what is lacking, trains, measures, writes."""
        import torch

        from wmrl_envs.benchmarks.demonstrations.selection import parse_states
        from wmrl_envs.benchmarks.world_models.progress_clips import ClipForm, read_demonstrations
        from wmrl_envs.benchmarks.world_models.progress_fidelity import split_states

        with usage_errors():
            form, settings = ClipForm(self.frames, self.pixels), self._settings()
            demonstrations, states = read_demonstrations(self.demos), parse_states(self.held_out)
            split_states(demonstrations, states)  # before minutes of rendering
        torch.set_num_threads(self.threads)
        with stopped_by_signals():
            clips = _clips(demonstrations, self.out / "clips", form, console)
            learned, rest = split_states(clips, states)
            model = _trained(learned, settings, console)
        model.save(self.out / "model")
        self._report(model, learned, rest, console)
        return 0

    def _settings(self) -> "ProgressSettings":
        from wmrl_envs.wrappers.world_models.progress import ProgressSettings

        return ProgressSettings(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            image_size=self.image_size,
            collapse=self.collapse,
            seed=self.seed,
        )

    def _report(
        self,
        model: "ProgressWorldModel",
        learned: "list[DemonstrationClip]",
        rest: "list[DemonstrationClip]",
        console: Console,
    ) -> None:
        from wmrl_envs.benchmarks.autoresearch.records import replace_file, write_record
        from wmrl_envs.benchmarks.world_models.progress_fidelity import (
            fidelity_by_task,
            fidelity_table,
        )

        found = fidelity_by_task(model, learned, rest)
        table = fidelity_table(found)
        console.print(table.console("held-out initial states"))
        write_record(self.out / "results.json", self._record(found, learned, rest))
        replace_file(self.out / "table.md", f"{table.markdown()}\n")
        console.print(f"Wrote {self.out}", markup=False, highlight=False, soft_wrap=True)

    def _record(
        self,
        found: "dict[str, ClipFidelity]",
        learned: "list[DemonstrationClip]",
        rest: "list[DemonstrationClip]",
    ) -> dict[str, Any]:
        from wmrl_envs.benchmarks.provenance import PACKAGES, provenance
        from wmrl_envs.libero import stock

        return {
            **provenance(sys.argv[1:], (*PACKAGES, *stock.versions())),
            "settings": {**asdict(self._settings()), "frames": self.frames, "pixels": self.pixels},
            "learned": _contents(learned),
            "held_out": _contents(rest),
            "fidelity": {task: asdict(figures) for task, figures in found.items()},
        }


def _clips(
    demonstrations: "list[Demonstration]", folder: Path, form: "ClipForm", console: Console
) -> "list[DemonstrationClip]":
    from wmrl_envs.benchmarks.world_models.progress_clips import ClipCache

    cache = ClipCache(folder, form)
    lacking = cache.lacking(demonstrations)
    with progress_bar(console) as bar:
        line = bar.add_task("rendering", total=len(lacking), note="")
        for demonstration in cache.fill(lacking):
            bar.update(line, advance=1, note=demonstration.recipe.name)
    return [cache.clip(demonstration) for demonstration in demonstrations]


def _trained(
    learned: "list[DemonstrationClip]", settings: "ProgressSettings", console: Console
) -> "ProgressWorldModel":
    from wmrl_envs.wrappers.world_models.progress import train_progress

    with progress_bar(console) as bar:
        line = bar.add_task("training", total=settings.epochs, note="")

        def on_epoch(epoch: int, loss: float) -> None:
            bar.update(line, completed=epoch, note=f"loss {loss:.3f}")

        return train_progress([found.clip for found in learned], settings, on_epoch)


def _contents(clips: "list[DemonstrationClip]") -> dict[str, Any]:
    """What a set of clips holds, for the record."""
    return {
        "episodes": len(clips),
        "successes": sum(found.success for found in clips),
        "tasks": {str(found.recipe.task_id): found.clip.task for found in clips},
        "states": sorted({found.recipe.init_state_id for found in clips}),
    }
