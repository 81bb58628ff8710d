"""Hooks into training, as Stable-Baselines3 users know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import VectorEnv

from wmrl_envs.agents.evaluation import evaluate
from wmrl_envs.agents.rollout import Rollout

if TYPE_CHECKING:
    from wmrl_envs.agents.grpo import GRPO

__all__ = [
    "BaseCallback",
    "CallbackList",
    "CheckpointCallback",
    "EvalCallback",
    "FunctionCallback",
    "ProgressBarCallback",
    "as_callback",
]


class BaseCallback:
    """Does nothing; override what you need.

    Attributes:
        model: The learner, set when training starts.
    """

    model: GRPO

    def bind(self, model: GRPO) -> None:
        """Introduces the learner."""
        self.model = model

    def on_training_start(self) -> None:
        """Runs before the first step."""

    def on_rollout_end(self, rollout: Rollout) -> None:
        """Runs when the episodes of a step are played, before the update."""

    def on_step(self) -> bool:
        """Runs after each step; False ends training."""
        return True

    def on_training_end(self) -> None:
        """Runs after the last step, and also when training was interrupted."""


class CallbackList(BaseCallback):
    """Runs several callbacks in order."""

    def __init__(self, callbacks: Sequence[BaseCallback]) -> None:
        self.callbacks = list(callbacks)

    def bind(self, model: GRPO) -> None:
        """Introduces the learner to each."""
        super().bind(model)
        for callback in self.callbacks:
            callback.bind(model)

    def on_training_start(self) -> None:
        """Calls each."""
        for callback in self.callbacks:
            callback.on_training_start()

    def on_rollout_end(self, rollout: Rollout) -> None:
        """Calls each."""
        for callback in self.callbacks:
            callback.on_rollout_end(rollout)

    def on_step(self) -> bool:
        """Calls each; False if any said so."""
        return all([callback.on_step() is not False for callback in self.callbacks])

    def on_training_end(self) -> None:
        """Calls each, even after one that raised."""
        with ExitStack() as stack:
            for callback in reversed(self.callbacks):
                stack.callback(callback.on_training_end)


class FunctionCallback(BaseCallback):
    """Calls ``function(model)`` after each step; False ends training."""

    def __init__(self, function: Callable[[GRPO], Any]) -> None:
        self._function = function

    def on_step(self) -> bool:
        """Calls the function."""
        return self._function(self.model) is not False


class CheckpointCallback(BaseCallback):
    """Saves the learner every so many steps, and when training ends or is interrupted.

    Args:
        path: The file, replaced each time; "{step}" in it is filled in, so that all are kept.
        every: Steps between checkpoints.

    Raises:
        ValueError: ``every`` is less than 1.
    """

    def __init__(self, path: str | Path, every: int = 1) -> None:
        if every < 1:
            raise ValueError(f"every must be >= 1, got {every!r}")
        self._path, self._every = str(path), every
        self._saved = -1

    def on_step(self) -> bool:
        """Saves if it is time."""
        if self.model.step % self._every == 0:
            self._save()
        return True

    def on_training_end(self) -> None:
        """Saves what is not saved yet, unless an update was cut in two."""
        if self.model.step != self._saved and self.model.can_save:
            self._save()

    def _save(self) -> None:
        self.model.save(self._path.replace("{step}", str(self.model.step)))
        self._saved = self.model.step


class EvalCallback(BaseCallback):
    """Evaluates the policy before the first step, every so many steps, and after the last.

    Each evaluation meets the same episodes and the same random numbers. Its mean and interval are
    logged as ``eval/reward_mean``, ``eval/reward_low`` and ``eval/reward_high``.

    Args:
        eval_envs: A vector environment of its own.
        every: Steps between evaluations.
        episodes: Episodes of an evaluation.
        first_seed: Reset seed of the first episode; the others count up.
        deterministic: Take the likeliest tokens.

    Attributes:
        evaluations: Pairs of the step and its :class:`~wmrl_envs.agents.evaluation.Evaluation`.

    Raises:
        ValueError: ``every`` or ``episodes`` is less than 1.
    """

    def __init__(
        self,
        eval_envs: VectorEnv[Any, Any, Any],
        *,
        every: int,
        episodes: int,
        first_seed: int = 0,
        deterministic: bool = False,
    ) -> None:
        for name, value in (("every", every), ("episodes", episodes)):
            if value < 1:
                raise ValueError(f"{name} must be >= 1, got {value!r}")
        self._envs, self._every, self._episodes = eval_envs, every, episodes
        self._seeds = range(first_seed, first_seed + episodes)
        self._deterministic = deterministic
        self.evaluations: list[tuple[int, Any]] = []

    def on_training_start(self) -> None:
        """Evaluates the policy that training starts from; a resumed run did that before."""
        if self.model.step == 0:
            self._evaluate()

    def on_step(self) -> bool:
        """Evaluates if it is time."""
        if self.model.step % self._every == 0 or self.model.step == self.model.total_steps:
            self._evaluate()
        return True

    def _evaluate(self) -> None:
        result = evaluate(
            self.model.policy,
            self._envs,
            self._episodes,
            seeds=self._seeds,
            deterministic=self._deterministic,
        )
        self.evaluations.append((self.model.step, result))
        scalars = {"mean": result.mean, "low": result.low, "high": result.high}
        self.model.log({f"eval/reward_{k}": v for k, v in scalars.items() if np.isfinite(v)})


class ProgressBarCallback(BaseCallback):
    """Shows a progress bar (rich) with the mean reward of the last step."""

    _bar: Any = None

    def on_training_start(self) -> None:
        """Starts the bar at the learner's step."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        text = TextColumn("reward {task.fields[reward]}")
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining(), text
        )
        total, done = self.model.total_steps, self.model.step
        self._task = self._bar.add_task("GRPO", total=total, completed=done, reward="-")
        self._bar.start()

    def on_step(self) -> bool:
        """Moves the bar."""
        reward = self.model.history[-1].get("rollout/reward_mean")
        shown = "-" if reward is None else f"{reward:.3f}"
        self._bar.update(self._task, completed=self.model.step, reward=shown)
        return True

    def on_training_end(self) -> None:
        """Takes the bar down, if training came so far as to show it."""
        if self._bar is not None:
            self._bar.stop()


def as_callback(
    callback: BaseCallback | Callable[[GRPO], Any] | Sequence[BaseCallback] | None,
) -> BaseCallback:
    """Turns what ``learn`` accepts into one callback.

    Raises:
        TypeError: It is neither a callback, a callable nor a sequence of callbacks.
    """
    if callback is None:
        return BaseCallback()
    if isinstance(callback, BaseCallback):
        return callback
    if isinstance(callback, Sequence) and all(isinstance(c, BaseCallback) for c in callback):
        return CallbackList(callback)
    if callable(callback):
        return FunctionCallback(callback)
    raise TypeError(f"callback must be a BaseCallback, a callable or a sequence, got {callback!r}")
