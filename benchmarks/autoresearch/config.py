"""The settings of one training run, as one frozen dataclass that a command line can offer."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from wmrl_envs.benchmarks.autoresearch.arms import ARMS
from wmrl_envs.benchmarks.autoresearch.records import SettingsError
from wmrl_envs.benchmarks.run_settings import StoredSettings

SandboxKind = Literal["warm", "cold"]
WorldModelKind = Literal["regression", "policy"]

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
class RunConfig(StoredSettings):
    """Everything that decides one training run of one arm.

    Raises:
        SettingsError: A setting is out of range.
    """

    arm: str = "wmrl"
    """The reward arm: real, anchors, world-model, mixture, denoise, debias, wmrl or rectified."""
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
    refit_every: int = 4
    """Steps between refits of the world model on the anchors (0: none, as in the paper)."""
    log_episodes: int = 160
    """Executed episodes that the world model learns from before the first step."""
    policy: str = "embedded"
    """`embedded`, `smollm2`, or a folder or Hub id of a causal language model."""
    turns: int = 1
    """Turns of an episode; the best program counts. Above 1 the policy converses."""
    lora_rank: int = 0
    """Train a LoRA adapter of this rank instead of all weights (0; `smollm2` has its own)."""
    gradient_checkpointing: bool = False
    """Compute each layer twice in training, to save memory (models of one's own)."""
    world_model: WorldModelKind = "regression"
    """`policy`: the frozen backbone of the policy itself (with an adapter: `smollm2`) grades."""
    train_tasks: tuple[str, ...] = TRAIN_TASKS
    """Tasks to train on."""
    test_tasks: tuple[str, ...] = TEST_TASKS
    """Tasks to evaluate on that are never trained on."""
    learning_rate: float = 7e-4
    """AdamW's step size."""
    inner_epochs: int = 2
    """Passes over each batch of episodes."""
    kl_coef: float = 0.02
    """Factor of the KL term to the starting policy."""
    eval_every: int = 8
    """Steps between evaluations during training."""
    eval_episodes: int = 24
    """Episodes a split of an evaluation during training."""
    final_episodes: int = 96
    """Episodes a split of the last evaluation (and the first)."""
    checkpoint_every: int = 5
    """Steps between checkpoints."""
    sandbox: SandboxKind = "warm"
    """`cold`: every execution pays for its imports, as a fresh interpreter does."""
    workers: int = 1
    """Programs executed at once."""
    threads: int = 1
    """CPU threads of torch."""

    def __post_init__(self) -> None:
        """Checks what nothing further down checks with the setting's own name."""
        if self.arm not in ARMS:
            raise SettingsError(f"arm must be one of {tuple(ARMS)}, got {self.arm!r}")
        if self.sandbox not in get_args(SandboxKind):
            raise SettingsError(
                f"sandbox must be one of {get_args(SandboxKind)}, got {self.sandbox!r}"
            )
        if self.world_model not in get_args(WorldModelKind):
            raise SettingsError(
                f"world_model must be one of {get_args(WorldModelKind)}, got {self.world_model!r}"
            )
        if not 0 < self.anchors <= 1:
            raise SettingsError(f"anchors must lie in (0, 1], got {self.anchors!r}")
        if not 0 < self.learning_rate < math.inf:
            raise SettingsError(f"learning_rate must be positive, got {self.learning_rate!r}")
        for name in ("seed", "refit_every", "lora_rank", "eval_episodes", "kl_coef"):
            self._at_least(name, 0)
        self._at_least("group_size", 2)
        for name in _POSITIVE:
            self._at_least(name, 1)
        for name in ("train_tasks", "test_tasks"):
            if not getattr(self, name):
                raise SettingsError(f"{name} must name a task, got {getattr(self, name)!r}")

    def _at_least(self, name: str, least: float) -> None:
        if not least <= getattr(self, name) < math.inf:
            raise SettingsError(f"{name} must be at least {least}, got {getattr(self, name)!r}")

    @property
    def num_envs(self) -> int:
        """Episodes a step."""
        return self.groups * self.group_size

    def with_(self, **changes: Any) -> "RunConfig":
        """A copy with other values."""
        return replace(self, **changes)


_POSITIVE = (
    "steps",
    "groups",
    "turns",
    "log_episodes",
    "inner_epochs",
    "eval_every",
    "final_episodes",
    "checkpoint_every",
    "workers",
    "threads",
)
