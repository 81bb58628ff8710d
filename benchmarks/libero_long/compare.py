"""Runs the arms of the LIBERO-Long table from one cloned policy, two processes at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wmrl_envs.benchmarks.autoresearch.compare import Job
from wmrl_envs.benchmarks.autoresearch.records import is_finished
from wmrl_envs.benchmarks.libero_long.arms import ARMS
from wmrl_envs.benchmarks.libero_long.config import LiberoConfig

__all__ = ["Plan", "arm_folder", "jobs", "start_folder"]


@dataclass(frozen=True)
class Plan:
    """What a comparison does.

    Attributes:
        base: The settings that the runs share.
        arms: The arms.
        seeds: Their seeds.
        cloning: Options of ``wmrl sft vla`` that make the start.
        demonstrations: Options of ``wmrl demos collect`` that make the world model's data.
        learning: Options of ``wmrl world-model train progress``.
    """

    base: LiberoConfig
    arms: tuple[str, ...]
    seeds: tuple[int, ...]
    cloning: tuple[str, ...]
    demonstrations: tuple[str, ...]
    learning: tuple[str, ...]


def start_folder(root: Path) -> Path:
    """Where the evaluation of the start lies in a comparison's folder."""
    return root / "sft-success"


def arm_folder(root: Path, arm: str, seed: int) -> Path:
    """Where an arm's run lies in a comparison's folder."""
    return root / f"seed-{seed}" / arm


def jobs(plan: Plan, root: Path) -> list[Job]:
    """The jobs that are left to do; each waits for those whose results it needs.

    Args:
        plan: The plan.
        root: The comparison's folder.

    Raises:
        SettingsError: A run has been begun with other settings.
    """
    made = _preparation(plan, root)
    ready = made[-1].name if made else None
    start = replace(plan.base, arm="real", steps=0, policy=str(root / "sft" / "policy"))
    runs = {("start", "sft"): (start, start_folder(root))}
    for seed in plan.seeds:
        for arm in plan.arms:
            runs[arm, str(seed)] = (_config(plan, arm, seed, root), arm_folder(root, arm, seed))
    for config, folder in runs.values():
        config.check_same(folder / "config.json")
    left = {name: run for name, run in runs.items() if not is_finished(run[1])}
    return made + [
        Job(f"{arm}, seed {seed}", _train_command(config, folder), folder / "output.txt", ready)
        for (arm, seed), (config, folder) in left.items()
    ]


def _config(plan: Plan, arm: str, seed: int, root: Path) -> LiberoConfig:
    world_model = str(root / "progress" / "model") if ARMS[arm].world_model else ""
    policy = str(root / "sft" / "policy")
    return replace(plan.base, arm=arm, seed=seed, policy=policy, world_model=world_model)


def _preparation(plan: Plan, root: Path) -> list[Job]:
    """Cloning, demonstrations with failures, the world model: one after the other."""
    demos, sft, progress = (root / name for name in ("demos", "sft", "progress"))
    steps = {
        "cloning": (sft / "policy", (*_CLONE, str(demos), str(sft), *plan.cloning)),
        "demonstrations": (
            demos / "minari",
            (*_COLLECT, "--output", str(demos), *plan.demonstrations),
        ),
        "world model": (
            progress / "model",
            (*_LEARN, str(demos), str(progress), *plan.learning),
        ),
    }
    found: list[Job] = []
    for name, (product, command) in steps.items():
        if not product.exists():
            after = found[-1].name if found else None
            found.append(Job(name, command, root / f"{name.replace(' ', '-')}.txt", after))
    return found


_CLONE = ("sft", "vla")
_COLLECT = ("demos", "collect")
_LEARN = ("world-model", "train", "progress")


def _train_command(config: LiberoConfig, folder: Path) -> tuple[str, ...]:
    return ("train", "libero", str(folder), *_options(config))


def _options(config: LiberoConfig) -> Sequence[str]:
    """A config as command-line options; only what differs from the defaults."""
    default = vars(LiberoConfig())
    found: list[str] = []
    for name, value in vars(config).items():
        if value != default[name]:
            values = value if isinstance(value, tuple) else (value,)
            found += [f"--{name.replace('_', '-')}", *map(str, values)]
    return found
