"""Behaviour cloning: a network learns to answer as the demonstrations did."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wmrl_envs.agents import checkpoint
from wmrl_envs.agents.cloning.examples import Examples
from wmrl_envs.agents.cloning.loss import BinLoss
from wmrl_envs.agents.policies.vla.base import VLAModel
from wmrl_envs.agents.policies.vla.policy import teacher_forced

__all__ = ["Cloning", "CloningSettings"]

_BETAS = (0.9, 0.95)
_EVALUATION_ROWS = 256


@dataclass(frozen=True)
class CloningSettings:
    """How a network is cloned.

    Attributes:
        steps: Optimiser steps.
        batch_size: Moments a step.
        learning_rate: AdamW's step size at its highest; it falls to 0 along a cosine.
        warmup: The share of the steps over which it first rises.
        weight_decay: AdamW's.
        max_grad_norm: The longest gradient; longer ones are shortened.
        smoothing: Over how many neighbouring bins the targets spread
            (:class:`~wmrl_envs.agents.cloning.loss.BinLoss`).
        seed: Seeds the order of the examples.

    Raises:
        ValueError: A setting is out of range.
    """

    steps: int = 2000
    batch_size: int = 128
    learning_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    smoothing: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the settings."""
        for name in ("steps", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("learning_rate", "max_grad_norm"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}")
        for name in ("weight_decay", "smoothing", "seed"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)!r}")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup must be in [0, 1), got {self.warmup!r}")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        warm = self.warmup * self.steps
        if step < warm:
            return self.learning_rate * (step + 1) / (warm + 1)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * step / self.steps))


class Cloning:
    """Trains a network on examples.

    The order of the examples is a function of seed and step, so a run that was interrupted and
    restored goes on bit for bit as if it had not been.

    Args:
        model: The network, which is trained in place.
        examples: What to learn.
        settings: How.

    Attributes:
        step: The steps taken so far.

    Example:
        >>> cloning = Cloning(model, examples, CloningSettings(steps=100))  # doctest: +SKIP
        >>> cloning.run(lambda step, loss: None)                            # doctest: +SKIP
        >>> cloning.loss(held_out)                                          # doctest: +SKIP
        1.52
    """

    def __init__(self, model: VLAModel, examples: Examples, settings: CloningSettings) -> None:
        if not len(examples):
            raise ValueError("examples must hold at least one moment, got none")
        self.step = 0
        self._updating = False
        self._model, self._examples, self._settings = model, examples, settings
        self._weights = [p for p in model.parameters() if p.requires_grad]
        self._optimizer = torch.optim.AdamW(
            self._weights,
            lr=settings.learning_rate,
            betas=_BETAS,
            weight_decay=settings.weight_decay,
        )
        self._loss = BinLoss(model.action_tokenizer.bins, settings.smoothing)

    def run(self, after_step: Callable[[int, float], None] = lambda step, loss: None) -> None:
        """Takes the steps that are left.

        Args:
            after_step: Called after each step with the steps so far and the step's loss, nats.
        """
        while self.step < self._settings.steps:
            loss = self._advance()
            after_step(self.step, loss)

    @torch.no_grad()
    def loss(self, examples: Examples) -> float:
        """The mean loss of examples, nats a token; NaN if there are none."""
        total = 0.0
        for start in range(0, len(examples), _EVALUATION_ROWS):
            rows = np.arange(start, min(start + _EVALUATION_ROWS, len(examples)))
            total += self._forward(examples, rows).item() * len(rows)
        return total / len(examples) if len(examples) else math.nan

    def state_dict(self) -> dict[str, Any]:
        """Returns all that a continued run needs: weights, optimiser, step and settings."""
        return {
            "model": dict(self._model.state_dict()),
            "optimizer": self._optimizer.state_dict(),
            "step": self.step,
            "settings": asdict(self._settings),
            "examples": len(self._examples),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state.

        Raises:
            ValueError: It is of other settings or of other examples.
        """
        for name, mine in (("settings", asdict(self._settings)), ("examples", len(self._examples))):
            if state[name] != mine:
                raise ValueError(f"the saved run has {name} {state[name]}, this one {mine}")
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]

    def save(self, path: str | Path) -> None:
        """Writes the state into one file, whole or not at all.

        Raises:
            RuntimeError: A step was interrupted while it changed the weights.
        """
        if self._updating:
            raise RuntimeError("cannot save in the middle of an update; use the last checkpoint")
        checkpoint.write(path, self.state_dict())

    def load(self, path: str | Path) -> None:
        """Goes on from a file that :meth:`save` wrote.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: It is damaged, or of other settings or examples.
        """
        self.load_state_dict(checkpoint.read(path))

    def _advance(self) -> float:
        for group in self._optimizer.param_groups:
            group["lr"] = self._settings.rate(self.step)
        loss = self._forward(self._examples, self._rows(self.step))
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._weights, self._settings.max_grad_norm)
        self._updating = True
        self._optimizer.step()
        self.step += 1
        self._updating = False
        return float(loss.detach())

    def _forward(self, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        inputs = [examples.inputs[i] for i in rows]
        tokens = torch.from_numpy(examples.tokens[rows]).to(self._model.device)
        prompts, contexts = [i.prompt for i in inputs], [i.context for i in inputs]
        logits = teacher_forced(self._model, prompts, contexts, tokens)
        return self._loss(logits, self._model.action_tokenizer.columns(tokens))

    def _rows(self, step: int) -> np.ndarray:
        """A step's examples: every epoch visits each once, in an order of its own."""
        count, size = len(self._examples), min(self._settings.batch_size, len(self._examples))
        epoch, turn = divmod(step, count // size)
        order = np.random.default_rng((self._settings.seed, epoch)).permutation(count)
        return order[turn * size : (turn + 1) * size]
