"""The settings of one training run, as one frozen dataclass that a command line can offer."""

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from wmrl_envs.benchmarks.autoresearch.arms import ARMS

SandboxKind = Literal["warm", "cold"]

TRAIN_TASKS = (
    "breast-cancer",
    "credit-status",
    "diabetes",
    "concrete",
    "meats-nir",
    "hpc-ordinal",
    "surname-language",
    "word-valence",
    "digits",
    "digits-parity",
    "digit-sum",
    "digits-inpaint",
)
"""Training tasks whose solutions run in a fraction of a second: tabular, text and image."""

TEST_TASKS = (
    "flight-late",
    "cell-segmentation",
    "olive-area",
    "first-name-gender",
    "tate-year",
    "tate-medium",
    "mnist-4v9",
    "mnist-rotation",
)
"""Held-out tasks, likewise: whole data sets that no training task shares."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides one training run of one arm.

    Raises:
        ValueError: A setting is out of range; the message names it.
    """

    arm: str = "wmrl"
    """The reward arm: real, anchors, world-model, mixture, denoise, debias, paper or wmrl."""
    seed: int = 0
    """Seed of the learner, the starts, the anchor draw and the world model."""
    steps: int = 40
    """Updates of the policy."""
    groups: int = 10
    """Groups a step."""
    group_size: int = 8
    """Episodes a group."""
    anchors: float = 0.1
    """Fraction of the groups that are graded by real execution, in arms that have anchors."""
    refit_every: int = 0
    """Steps between refits of the world model on the anchors (0: never; the paper's keeps its model)."""
    log_episodes: int = 320
    """Executed episodes that the world model learns from before the first step."""
    policy: str = "embedded"
    """`embedded`, or a folder or Hub id of a causal language model."""
    train_tasks: tuple[str, ...] = TRAIN_TASKS
    """Tasks to train on."""
    test_tasks: tuple[str, ...] = TEST_TASKS
    """Tasks to evaluate on that are never trained on."""
    learning_rate: float = 5e-4
    """AdamW's step size."""
    inner_epochs: int = 2
    """Passes over each batch of episodes."""
    kl_coef: float = 0.02
    """Factor of the KL term to the starting policy."""
    eval_every: int = 10
    """Steps between evaluations during training."""
    eval_episodes: int = 24
    """Episodes a split of an evaluation during training."""
    final_episodes: int = 96
    """Episodes a split of the last evaluation (and the first)."""
    checkpoint_every: int = 5
    """Steps between checkpoints."""
    sandbox: SandboxKind = "warm"
    """`cold` preloads nothing: every execution pays for its imports, as a fresh interpreter does."""
    workers: int = 1
    """Programs executed at once."""
    threads: int = 1
    """CPU threads of torch."""

    def __post_init__(self) -> None:
        """Checks what nothing further down checks with the setting's own name."""
        if self.arm not in ARMS:
            raise ValueError(f"arm must be one of {tuple(ARMS)}, got {self.arm!r}")
        if not 0 < self.anchors <= 1:
            raise ValueError(f"anchors must lie in (0, 1], got {self.anchors!r}")
        for name in ("seed", "refit_every", "eval_episodes", "kl_coef"):
            self._at_least(name, 0)
        for name in _POSITIVE:
            self._at_least(name, 1)
        for name in ("train_tasks", "test_tasks"):
            if not getattr(self, name):
                raise ValueError(f"{name} must name a task, got {getattr(self, name)!r}")

    def _at_least(self, name: str, least: float) -> None:
        if not getattr(self, name) >= least:
            raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)!r}")

    @property
    def num_envs(self) -> int:
        """Episodes a step."""
        return self.groups * self.group_size

    def with_(self, **changes: Any) -> "RunConfig":
        """A copy with other values."""
        return replace(self, **changes)

    def write(self, path: Path) -> None:
        """Writes the settings as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "RunConfig":
        """Reads what :meth:`write` wrote.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: The file holds other settings.
        """
        stored = json.loads(path.read_text(encoding="utf-8"))
        unknown = sorted(set(stored) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"{path}: unknown settings {unknown}")
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()})


_POSITIVE = (
    "steps",
    "groups",
    "group_size",
    "log_episodes",
    "inner_epochs",
    "eval_every",
    "final_episodes",
    "checkpoint_every",
    "workers",
    "threads",
)
