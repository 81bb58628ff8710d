"""Reads run folders of any track into one shape; what a folder lacks is absent, not an error."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wmrl_envs.benchmarks.autoresearch.arms import ARMS
from wmrl_envs.benchmarks.autoresearch.compare import options
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.records import SettingsError, read_lines
from wmrl_envs.benchmarks.report.episodes import Episode, number, text_of
from wmrl_envs.benchmarks.report.success_files import START_FOLDER, state_episodes

__all__ = ["Evaluation", "RunData", "executions", "find_runs", "read_run", "seconds"]

_STEP_FILES = ("steps.jsonl", "metrics.jsonl")
_MARKS = (*_STEP_FILES, "evaluations.jsonl")
_COUNTS = ("executions", "measurements", "simulated_episodes", "episodes")
_DEEPEST = 4


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of one run.

    Attributes:
        step: The policy's step.
        costs: What training had cost, the world model's log included.
        episodes: Its episodes of every split.
        scalars: Further figures, where the run recorded means instead of episodes.
    """

    step: int
    costs: Mapping[str, float]
    episodes: tuple[Episode, ...]
    scalars: Mapping[str, float]


@dataclass(frozen=True)
class RunData:
    """What a run folder says.

    Attributes:
        folder: The folder.
        arm: The arm's name.
        seed: The seed; None where that was not recorded.
        config: The settings.
        steps: A flat record a step, nested keys joined by ``/``.
        evaluations: The evaluations in order.
        anchors: Executed episodes of training.
        command: How it was started; "" where that was not recorded.
        versions: Distribution -> version; empty where that was not recorded.
        notes: Sentences about what is missing.
    """

    folder: Path
    arm: str
    seed: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[Mapping[str, Any]] = ()
    evaluations: Sequence[Evaluation] = ()
    anchors: Sequence[Episode] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        """The arm's name in tables."""
        return ARMS[self.arm].title if self.arm in ARMS else self.arm

    @property
    def name(self) -> str:
        """What this run is called in sentences."""
        return self.arm if self.seed is None else f"{self.arm}, seed {self.seed}"


def find_runs(folders: Iterable[Path]) -> list[RunData]:
    """Reads every run below some folders.

    Args:
        folders: Run folders, or folders of comparisons that hold some.

    Raises:
        FileNotFoundError: A folder is missing.
        ValueError: A folder holds no run.
    """
    found: dict[Path, RunData] = {}
    for folder in folders:
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is not a folder")
        below = list(_run_folders(folder, 0))
        if not below:
            raise ValueError(f"{folder} holds no run: no {', '.join(_MARKS)} in it or below it")
        found |= {path.resolve(): read_run(path, folder) for path in below}
    order = {arm: number for number, arm in enumerate(ARMS)}
    return sorted(found.values(), key=lambda r: (order.get(r.arm, 99), r.arm, r.seed or 0))


def _run_folders(folder: Path, depth: int) -> Iterator[Path]:
    if any((folder / name).is_file() for name in _MARKS):
        yield folder
    elif depth < _DEEPEST:
        for child in sorted(p for p in folder.iterdir() if p.is_dir() and not p.is_symlink()):
            yield from _run_folders(child, depth + 1)


def read_run(folder: Path, root: Path | None = None) -> RunData:
    """Reads one run folder.

    Args:
        folder: The run folder.
        root: The comparison that it belongs to; its command and versions count where the run has
            none of its own.
    """
    config = _json(folder / "config.json")
    steps = [_flat(r) for name in _STEP_FILES for r in _records(folder / name)]
    log = _log_costs(folder, config)
    evaluations: list[Evaluation | None] = [
        _evaluation(r, log) for r in _records(folder / "evaluations.jsonl")
    ]
    places = [folder, *([root] if root is not None else [])]
    seed = number(config.get("seed"))
    run = RunData(
        folder=folder,
        arm=text_of(config.get("arm", config.get("method"))) or folder.name,
        seed=None if seed is None else int(seed),
        config=config,
        steps=[s for s in steps if number(s.get("step")) is not None],
        evaluations=[
            *(e for e in evaluations if e is not None),
            *_success_evaluations(folder, steps),
        ],
        anchors=[
            Episode.read(r, "anchor", int(number(r.get("step")) or 0))
            for name in ("anchors.jsonl", "episodes.jsonl")
            for r in _records(folder / name)
        ],
        command=next((c for c in map(_command, places) if c), "") or _rebuilt(config, folder),
        versions=next((v for v in map(_versions, places) if v), {}),
    )
    return RunData(**{**vars(run), "notes": tuple(_missing(run))})


def _missing(run: RunData) -> Iterator[str]:
    last = max((int(s["step"]) for s in run.steps), default=0)
    if not run.config:
        yield "no config.json, so its settings are unknown"
    if not run.steps:
        yield "no step has been recorded"
    if not run.evaluations:
        yield "no evaluation has been recorded"
    wanted = number(run.config.get("steps"))
    if wanted is not None and last < wanted:
        yield f"unfinished: step {last} of {wanted:g}"
    if not run.versions:
        yield "the versions of its libraries were not recorded"


def _evaluation(record: Mapping[str, Any], log: Mapping[str, float]) -> Evaluation | None:
    step = number(record.get("step"))
    if step is None:
        return None
    spent = record.get("costs")
    costs = _numbers(spent) if isinstance(spent, Mapping) else {}
    costs = {**costs, **{k: costs.get(k, 0.0) + v for k, v in log.items()}}
    episodes = [
        Episode.read(item, text_of(item.get("split")) or split, int(step))
        for split, items in record.items()
        if isinstance(items, list)
        for item in items
        if isinstance(item, Mapping)
    ]
    others = {k: v for k, v in record.items() if k not in ("step", "costs")}
    return Evaluation(int(step), costs, tuple(episodes), _numbers(_flat(others)))


def _success_evaluations(folder: Path, steps: Sequence[Mapping[str, Any]]) -> list[Evaluation]:
    """A LIBERO run's evaluation at its end; that of its start lies beside the seeds' folders."""
    last = max((int(number(s.get("step")) or 0) for s in steps), default=0)
    start = _json(folder.parent.parent / START_FOLDER / "evaluation.json")
    found = [(0, start), (last, _json(folder / "evaluation.json"))]
    read = [(step, state_episodes(record, step)) for step, record in found]
    return [Evaluation(step, {}, episodes, {}) for step, episodes in read if episodes]


def _log_costs(folder: Path, config: Mapping[str, Any]) -> dict[str, float]:
    """What the world model's log cost, this run's share of it; empty for arms without one."""
    arm = ARMS.get(text_of(config.get("arm")))
    if arm is not None and not arm.world_model:
        return {}
    for place in (folder, folder.parent / "log"):
        costs = _numbers(_json(place / "log_costs.json"))
        if costs:
            episodes = costs.pop("episodes", 0.0)
            used = number(config.get("log_episodes")) or episodes
            share = min(1.0, used / episodes) if episodes else 1.0
            return {key: value * share for key, value in costs.items()}
    return {}


def executions(costs: Mapping[str, float]) -> float | None:
    """How many real executions these costs hold; None where nobody counted."""
    return next((costs[key] for key in _COUNTS if key in costs), None)


def seconds(costs: Mapping[str, float]) -> dict[str, float]:
    """The seconds of these costs by kind."""
    return {key: value for key, value in costs.items() if key not in _COUNTS}


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    known = {str(key): number(value) for key, value in record.items()}
    return {key: value for key, value in known.items() if value is not None}


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}/")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        return [record for record in read_lines(path) if isinstance(record, dict)]
    except (OSError, UnicodeDecodeError):
        return []


def _json(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _command(folder: Path) -> str:
    record = _json(folder / "command.json")
    argv = record.get("argv")
    if isinstance(argv, list):
        return " ".join(("wmrl", *map(str, argv)))
    found = (record, *(_json(folder / f"{name}.json") for name in ("provenance", "results")))
    return next((text for r in found if (text := text_of(r.get("command")))), "")


def _versions(folder: Path) -> dict[str, str]:
    for name in ("provenance", "command", "results", "config"):
        versions = _json(folder / f"{name}.json").get("versions")
        if isinstance(versions, Mapping):
            return {str(key): str(value) for key, value in versions.items()}
    return {}


def _rebuilt(config: Mapping[str, Any], folder: Path) -> str:
    """The command that these settings stand for, where the run kept none."""
    try:
        settings: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in config.items()
        }
        words = options(RunConfig(**settings)) if settings else ()
    except (SettingsError, TypeError):
        return ""
    return " ".join(("wmrl train autoresearch", folder.name, *words)) if settings else ""
