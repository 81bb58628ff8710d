"""``wmrl demos``: demonstrations of LIBERO-Long by the scripted expert."""

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.console import Console
from tyro.conf import Positional, subcommand

from wmrl_envs.benchmarks.commands.base import stopped_by_signals, usage_errors

if TYPE_CHECKING:
    from wmrl_envs.libero.demonstrations import Demonstration, Recipe

__all__ = ["Demos"]


@dataclass(frozen=True)
class Collect:
    """Record demonstrations and write them as Minari or LeRobot datasets.

    Interrupted, it goes on where it stopped: the episodes lie in OUTPUT/episodes. Read the datasets
    with MINARI_DATASETS_PATH=OUTPUT/minari and minari.load_dataset("libero_long/task0-v0"), or with
    LeRobotDataset("any/name", root="OUTPUT/lerobot").
    """

    output: Path
    """The folder of episodes and datasets."""
    task: str = "0"
    """Tasks of libero_10: numbers and ranges such as 0-3,7, or `all`."""
    states: str = "train"
    """Initial states: numbers and ranges, `train` (0-15), `heldout` (16-49) or `all`."""
    episodes: int = 1
    """Episodes from every initial state, with different noise."""
    noise: float = 0.0
    """Standard deviation of the noise on the motion commands, which are within -1 and 1."""
    grasp_noise: float = 0.0
    """Standard deviation of an episode's grasp error, in metres."""
    failures: tuple[Literal["drop", "miss", "misplace", "stop"], ...] = ()
    """Ways to fail on purpose, each in further episodes of its own; these are kept."""
    keep_failures: bool = False
    """Write also the episodes that failed by themselves."""
    formats: tuple[Literal["minari", "lerobot"], ...] = ("minari",)
    """What to write: Minari datasets, one a task; a LeRobot dataset (v3.0) of all tasks."""
    pixels: int = 0
    """Render pictures of this side, in pixels, into the datasets; 0 renders none."""
    cameras: tuple[str, ...] = ("agentview",)
    """The cameras of the pictures."""
    replay: bool = False
    """Play every episode again first; exit with 1 if one does not repeat bit for bit."""

    def run(self, console: Console) -> int:
        """Records, replays, writes."""
        from wmrl_envs.benchmarks.demonstrations import session
        from wmrl_envs.benchmarks.demonstrations.results import expert_table
        from wmrl_envs.libero.demonstrations import Pictures, Store

        with usage_errors():
            recipes = _recipes(self)
            pictures = Pictures(self.cameras, self.pixels) if self.pixels else None
        store = Store(self.output / "episodes")
        with stopped_by_signals(), session.demonstration_env(pictures) as env:
            found = session.collected(env, recipes, store, console)
            console.print(expert_table(found))
            if self.replay and not _repeats(session.differing(env, found, console), console):
                return 1
            kept = [d for d in found if d.success or d.recipe.failure or self.keep_failures]
            written = session.write_datasets(
                env, kept, self.output, self.formats, pictures, console
            )
            for path in written:
                console.print(f"Wrote {path}", markup=False, highlight=False, soft_wrap=True)
        return 0


@dataclass(frozen=True)
class Evaluate:
    """Count the expert's successes, task by task."""

    task: str = "all"
    """Tasks of libero_10: numbers and ranges such as 0-3,7, or `all`."""
    states: str = "train"
    """Initial states: numbers and ranges, `train` (0-15), `heldout` (16-49) or `all`."""
    noise: float = 0.0
    """Standard deviation of the noise on the motion commands."""
    grasp_noise: float = 0.0
    """Standard deviation of an episode's grasp error, in metres."""
    episodes_folder: Path | None = None
    """Keep the episodes here, and do not repeat those that are here already."""
    out: Path | None = None
    """Write `results.json`, with command and versions, into this folder."""

    def run(self, console: Console) -> int:
        """Prints the table."""
        from wmrl_envs.benchmarks.demonstrations import session
        from wmrl_envs.benchmarks.demonstrations.results import expert_record, expert_table
        from wmrl_envs.libero.demonstrations import Store

        with usage_errors():
            recipes = _recipes(self)
        with tempfile.TemporaryDirectory() as temporary:
            store = Store(self.episodes_folder or Path(temporary))
            with stopped_by_signals(), session.demonstration_env() as env:
                found = session.collected(env, recipes, store, console)
        console.print(expert_table(found))
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            text = json.dumps(expert_record(found, sys.argv[1:]), indent=1)
            (self.out / "results.json").write_text(f"{text}\n", encoding="utf-8")
        return 0


@dataclass(frozen=True)
class Gallery:
    """Draw one strip of pictures a task, of an episode of the expert."""

    folder: Positional[Path]
    """Where task0.jpg to task9.jpg are written."""
    task: str = "all"
    """Tasks of libero_10: numbers and ranges such as 0-3,7, or `all`."""
    frames: int = 6
    """Pictures side by side."""
    size: int = 128
    """The side of a picture, in pixels."""

    def run(self, console: Console) -> int:
        """Draws the strips."""
        from wmrl_envs.benchmarks.demonstrations.selection import parse_tasks
        from wmrl_envs.benchmarks.demonstrations.session import demonstration_env
        from wmrl_envs.benchmarks.demonstrations.strips import draw_strip
        from wmrl_envs.libero.demonstrations import Pictures

        with usage_errors():
            tasks = parse_tasks(self.task)
        with stopped_by_signals(), demonstration_env(Pictures(size=self.size)) as env:
            for task_id in tasks:
                path = draw_strip(env, task_id, self.folder, self.frames)
                console.print(f"Wrote {path}", markup=False, highlight=False, soft_wrap=True)
        return 0


@dataclass(frozen=True)
class Demos:
    """Demonstrations of LIBERO-Long by a scripted expert: collect, evaluate, look at."""

    command: (
        Annotated[Collect, subcommand("collect")]
        | Annotated[Evaluate, subcommand("evaluate")]
        | Annotated[Gallery, subcommand("gallery")]
    )

    def run(self, console: Console) -> int:
        """Runs the subcommand."""
        return self.command.run(console)


def _recipes(command: Collect | Evaluate) -> list["Recipe"]:
    from wmrl_envs.benchmarks.demonstrations.selection import (
        make_recipes,
        parse_states,
        parse_tasks,
    )

    return make_recipes(
        parse_tasks(command.task),
        parse_states(command.states),
        seeds=range(command.episodes if isinstance(command, Collect) else 1),
        noise=command.noise,
        grasp_noise=command.grasp_noise,
        failures=command.failures if isinstance(command, Collect) else (),
    )


def _repeats(differing: Sequence["Demonstration"], console: Console) -> bool:
    names = ", ".join(demonstration.recipe.name for demonstration in differing)
    console.print(f"do not repeat: {names}" if names else "every episode repeats bit for bit")
    return not differing
