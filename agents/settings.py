"""The settings of GRPO: one frozen dataclass, so that a command line can offer each of them."""

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from wmrl_envs.agents.advantages import Scale

__all__ = ["SETTING_NAMES", "GRPOSettings", "Normalization", "Schedule"]

Normalization = Literal["sequence", "token", "constant"]
"""How token losses are averaged: GRPO's, DAPO's and Dr. GRPO's way."""

Schedule = Literal["constant", "linear", "cosine"]


@dataclass(frozen=True)
class GRPOSettings:
    """Settings of :class:`~wmrl_envs.agents.grpo.GRPO`.

    Attributes:
        group_size: Episodes that share a start and are compared with each other.
        learning_rate: AdamW's step size.
        schedule: How the learning rate goes from there to 0 at the last step ("constant": stays).
        warmup_steps: Steps over which it first rises to that value.
        betas: AdamW's averaging factors.
        weight_decay: AdamW's.
        max_grad_norm: The longest gradient; longer ones are shortened.
        inner_epochs: Passes over each batch of episodes.
        minibatches: Optimiser steps in a pass.
        token_budget: The most padded tokens in one forward pass; gradients of the passes add up.
        clip_low: The most that a token's probability ratio falls before the push ends.
        clip_high: The most that it rises (DAPO's clip-higher).
        kl_coef: Factor of the KL term to the policy at the start; 0.0 keeps no reference.
        entropy_coef: Factor of the entropy bonus.
        importance_limit: Where the importance weights of stale rollouts are cut.
        max_staleness: Updates that may lie between the sampling of a token and the update that it
            is for. 0: rollouts and updates alternate; k: they overlap, on k + 1 environments (see
            :class:`~wmrl_envs.agents.asynchronous.Pipeline`).
        scale: What advantages are divided by (see
            :func:`~wmrl_envs.agents.advantages.group_advantages`).
        std_floor: The least divisor, in units of reward.
        loss_normalization: "sequence" (GRPO), "token" (DAPO) or "constant" (Dr. GRPO).
        seed: Seeds the sampling and, unless ``first_group_seed`` is given, the environments.
        first_group_seed: Reset seed of the first group; the following count up. None: a million
            times ``seed``, so that runs with different seeds meet different starts.

    Raises:
        TypeError: A setting is of the wrong type; the message names it.
        ValueError: A setting is out of range; the message names it.
    """

    group_size: int = 8
    learning_rate: float = 1e-5
    schedule: Schedule = "constant"
    warmup_steps: int = 0
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    inner_epochs: int = 1
    minibatches: int = 1
    token_budget: int = 4096
    clip_low: float = 0.2
    clip_high: float = 0.28
    kl_coef: float = 0.0
    entropy_coef: float = 0.0
    importance_limit: float = 2.0
    max_staleness: int = 0
    scale: Scale = "batch"
    std_floor: float = 1e-4
    loss_normalization: Normalization = "sequence"
    seed: int = 0
    first_group_seed: int | None = None

    def __post_init__(self) -> None:
        """Checks every setting."""
        for field in fields(self):
            self._settle(field.name, field.type)
        for name in ("inner_epochs", "minibatches", "token_budget"):
            self._at_least(name, 1)
        self._at_least("group_size", 2)
        for name in (
            "warmup_steps",
            "weight_decay",
            "kl_coef",
            "entropy_coef",
            "seed",
            "max_staleness",
        ):
            self._at_least(name, 0)
        for name in ("learning_rate", "max_grad_norm", "importance_limit", "std_floor"):
            self._positive(name)
        for name in ("clip_low", "clip_high"):
            self._positive(name)
        for name, choices in (
            ("schedule", get_args(Schedule)),
            ("scale", get_args(Scale)),
            ("loss_normalization", get_args(Normalization)),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}")
        if self.first_group_seed is not None:
            self._at_least("first_group_seed", 0)

    def group_seed(self, number: int) -> int:
        """Returns the reset seed of the run's ``number``-th group."""
        first = self.first_group_seed
        return (self.seed * 1_000_000 if first is None else first) + number

    def learning_rate_at(self, step: int, total_steps: int) -> float:
        """Returns the learning rate of the update after ``step`` updates."""
        rise = min(1.0, (step + 1) / (self.warmup_steps + 1))
        done = min(1.0, step / max(total_steps, 1))
        fall = {
            "constant": 1.0,
            "linear": 1.0 - done,
            "cosine": 0.5 * (1.0 + math.cos(math.pi * done)),
        }[self.schedule]
        return self.learning_rate * rise * fall

    def _settle(self, name: str, kind: Any) -> None:
        """Makes numpy's numbers Python's, which a checkpoint can hold, and refuses other types."""
        value = getattr(self, name)
        if isinstance(value, np.generic):
            value = value.item()
            object.__setattr__(self, name, value)
        if kind in (int, float):
            fits = isinstance(value, int if kind is int else (int, float))
            if isinstance(value, bool) or not fits:
                raise TypeError(f"{name} must be of type {kind.__name__}, got {value!r}")

    def _at_least(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if not (math.isfinite(value) and value >= least):
            raise ValueError(f"{name} must be finite and >= {least}, got {value!r}")

    def _positive(self, name: str) -> None:
        value = getattr(self, name)
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be finite and > 0, got {value!r}")


SETTING_NAMES = frozenset(field.name for field in fields(GRPOSettings))
