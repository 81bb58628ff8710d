"""The settings of one GRPO run on LIBERO-Long, as one frozen dataclass."""

import math
from dataclasses import dataclass

from wmrl_envs.benchmarks.autoresearch.records import SettingsError
from wmrl_envs.benchmarks.libero_long.arms import ARMS
from wmrl_envs.benchmarks.run_settings import StoredSettings

__all__ = ["LiberoConfig"]

_SEEN, _HELD_OUT = 16, 34


@dataclass(frozen=True)
class LiberoConfig(StoredSettings):
    """Everything that decides one run of one arm.

    Raises:
        SettingsError: A setting is out of range.
    """

    arm: str = "wmrl"
    """The reward arm: real, world-model, mixture, debias, denoise or wmrl."""
    policy: str = ""
    """The folder of the cloned policy to start from (see `wmrl sft vla`)."""
    world_model: str = ""
    """The folder of a progress model (see `wmrl world-model train progress`); arms with one."""
    seed: int = 0
    """Seed of the learner, the starts and the anchor draw."""
    tasks: tuple[int, ...] = (5, 6)
    """Tasks of libero_10."""
    steps: int = 12
    """Updates of the policy; 0 evaluates the start."""
    groups: int = 8
    """Groups a step."""
    group_size: int = 8
    """Rollouts of a group, all from one (task, initial state)."""
    horizon: int = 520
    """Control steps of an episode at most."""
    anchors: float = 1.0
    """Fraction of the groups whose success the reward may use."""
    learning_rate: float = 1e-4
    """AdamW's step size."""
    inner_epochs: int = 2
    """Passes over each batch of rollouts."""
    kl_coef: float = 0.0
    """Factor of the KL term to the starting policy."""
    frames: int = 8
    """Frames of a rollout that the world model sees."""
    image_size: int = 128
    """Side of the pictures, pixels."""
    rollouts: int = 8
    """Rollouts of an initial state in the evaluation."""
    seen_states: int = _SEEN
    """Initial states in the evaluation that training starts from, of each task; at most 16."""
    heldout_states: int = _HELD_OUT
    """Initial states in the evaluation that training never sees, of each task; at most 34."""
    checkpoint_every: int = 1
    """Steps between checkpoints."""
    workers: int = 2
    """Processes that simulate; 0: none but this one."""
    threads: int = 1
    """CPU threads of torch."""

    def __post_init__(self) -> None:
        """Checks what nothing further down checks with the setting's own name."""
        if self.arm not in ARMS:
            raise SettingsError(f"arm must be one of {tuple(ARMS)}, got {self.arm!r}")
        if not 0 < self.anchors <= 1:
            raise SettingsError(f"anchors must lie in (0, 1], got {self.anchors!r}")
        if not 0 < self.learning_rate < math.inf:
            raise SettingsError(f"learning_rate must be positive, got {self.learning_rate!r}")
        if not self.tasks:
            raise SettingsError(f"tasks must name a task, got {self.tasks!r}")
        for name in ("seed", "steps", "kl_coef", "workers"):
            self._within(name, 0)
        for name in ("groups", "inner_epochs", "rollouts", "frames", "horizon"):
            self._within(name, 1)
        for name in ("image_size", "checkpoint_every", "threads"):
            self._within(name, 1)
        self._within("group_size", 2)
        self._within("seen_states", 1, _SEEN)
        self._within("heldout_states", 1, _HELD_OUT)

    def _within(self, name: str, least: float, most: float = math.inf) -> None:
        value = getattr(self, name)
        if not (math.isfinite(value) and least <= value <= most):
            limit = "" if most == math.inf else f" and at most {most}"
            raise SettingsError(f"{name} must be at least {least}{limit}, got {value!r}")

    @property
    def num_envs(self) -> int:
        """Rollouts a step."""
        return self.groups * self.group_size

    @property
    def splits(self) -> dict[str, tuple[int, ...]]:
        """The initial states of the evaluation, by split."""
        seen, held_out = range(self.seen_states), range(_SEEN, _SEEN + self.heldout_states)
        return {"train": tuple(seen), "heldout": tuple(held_out)}
