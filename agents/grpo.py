"""GRPO on any vector environment, with the habits of a Stable-Baselines3 algorithm."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from gymnasium.vector import VectorEnv

from wmrl_envs.agents import checkpoint
from wmrl_envs.agents.asynchronous import Pipeline
from wmrl_envs.agents.callbacks import (
    BaseCallback,
    CallbackList,
    EvalCallback,
    ProgressBarCallback,
    as_callback,
)
from wmrl_envs.agents.policies.base import TokenPolicy
from wmrl_envs.agents.processes import Processes
from wmrl_envs.agents.rollout import Rollout, Seconds, collect
from wmrl_envs.agents.scalars import ScalarWriter, rollout_scalars
from wmrl_envs.agents.settings import SETTING_NAMES, GRPOSettings
from wmrl_envs.agents.update import Update

if TYPE_CHECKING:
    from accelerate import Accelerator

__all__ = ["GRPO"]

_FORMAT = "wmrl-envs GRPO 1"
_PARTS = ("generation", "environment", "update", "waiting")


class GRPO:
    """Group Relative Policy Optimization (Shao et al. 2024) with measured and predicted rewards.

    A step resets ``envs`` so that each ``group_size`` sub-environments share a reset seed, plays
    every episode to its end and updates the policy once
    (:class:`~wmrl_envs.agents.update.Update`). Of the infos it reads ``graded`` (a row that nobody
    graded takes no part), ``reward_weight`` (multiplies the advantage) and ``group``; where they
    are missing, as in any third-party environment, every row counts alike. Nothing else about world
    models or corrections is known here.

    With an ``accelerator`` of several processes each plays its own groups in its own ``envs``, and
    all make one update together, with advantages scaled over all their episodes. The state of a
    wrapper, a correction's pairs say, stays with the process whose anchors it learned from, and a
    checkpoint holds every process's. Anchors are drawn by the group's number, which counts over all
    processes, so their share is exact. See :class:`~wmrl_envs.agents.processes.Processes`.

    With ``max_staleness=k`` the environments' work overlaps sampling and updates. It takes
    ``k + 1`` environments, which play batches in turn; each keeps its own wrappers, so each
    correction learns from its own batches. Tokens of older policies carry truncated importance
    weights. Such a run is as repeatable as any, and resumes bit for bit: a checkpoint holds the
    actions of the batches under way, which are played again.

    Args:
        policy: Any :class:`~wmrl_envs.agents.policies.base.TokenPolicy`; it is trained in place.
        envs: A vector environment whose number of sub-environments is a multiple of ``group_size``,
            or ``max_staleness + 1`` of them, equal and independent.
        settings: All settings at once; None: the defaults.
        accelerator: An ``accelerate.Accelerator`` whose processes train together; None: alone. The
            policy is already on its device.
        tensorboard_log: A folder for TensorBoard's events; None: none.
        verbose: 1 logs a line a step (logger ``wmrl_envs.agents``).
        **overrides: Single settings, see :class:`~wmrl_envs.agents.settings.GRPOSettings`.

    Attributes:
        policy: The policy in training.
        envs: The environment, the first where there are several.
        reference: The frozen policy of the KL term, or None.
        settings: The settings.
        step: Updates made so far.
        total_steps: The step at which the current :meth:`learn` ends.
        history: The scalars of each step, with its number as ``step``.

    Raises:
        TypeError: A setting is unknown, or ``policy`` or ``envs`` is of the wrong kind.
        ValueError: A setting is out of range, or ``group_size`` does not divide ``envs.num_envs``.

    Example:
        >>> model = GRPO(policy, envs, group_size=8, learning_rate=5e-4)  # doctest: +SKIP
        >>> model.learn(total_steps=40, progress_bar=True).save("run/model.pt")  # doctest: +SKIP
        >>> GRPO.load("run/model.pt", policy=policy, envs=envs).learn(80)  # doctest: +SKIP
    """

    def __init__(
        self,
        policy: TokenPolicy,
        envs: VectorEnv[Any, Any, Any] | Sequence[VectorEnv[Any, Any, Any]],
        settings: GRPOSettings | None = None,
        *,
        accelerator: "Accelerator | None" = None,
        tensorboard_log: str | Path | None = None,
        verbose: int = 0,
        **overrides: Any,
    ) -> None:
        self.settings = _settings(settings or GRPOSettings(), overrides)
        every: list[Any] = list(envs) if isinstance(envs, (list, tuple)) else [envs]
        _check_parts(policy, every, self.settings)
        self.policy, self.envs = policy, cast("VectorEnv[Any, Any, Any]", every[0])
        self.tensorboard_log, self.verbose = tensorboard_log, verbose
        self.step = self.total_steps = 0
        self.history: list[dict[str, float]] = []
        self._processes = Processes(accelerator)
        self._processes.equalise(policy)
        self.reference = policy.frozen_copy() if self.settings.kl_coef > 0 else None
        self._optimizer = torch.optim.AdamW(
            list(policy.parameters()),
            lr=self.settings.learning_rate,
            betas=self.settings.betas,
            weight_decay=self.settings.weight_decay,
        )
        seed = self.settings.seed + (self._processes.rank << 32)  # each process draws its own
        self._generator = torch.Generator(policy.device).manual_seed(seed)
        self._dealer = torch.Generator().manual_seed(seed)
        self._update = Update(
            policy, self.reference, self._optimizer, self.settings, self._dealer, self._processes
        )
        self._seconds = {name: Seconds() for name in _PARTS}
        self._counts = {"episodes": 0, "sampled_tokens": 0}
        self._boundary: list[dict[str, Any]] | None = None
        self._updating = False
        self._writer: ScalarWriter | None = None
        self._pipeline = self._overlapping(every) if self.settings.max_staleness else None

    @property
    def is_main_process(self) -> bool:
        """True in the process that writes checkpoints and events; always, without others."""
        return self._processes.is_main

    @property
    def metrics(self) -> dict[str, float]:
        """Totals since the first step: seconds (wall and CPU of this process), episodes, tokens.

        Episodes and tokens are those of all processes. Where rollouts overlap, so do the parts, and
        the CPU seconds of one hold what the others used meanwhile.
        """
        seconds = {
            f"{name}_{kind}_seconds": value
            for name, part in self._seconds.items()
            for kind, value in (("wall", part.wall), ("cpu", part.cpu))
        }
        return {
            "steps": float(self.step),
            **seconds,
            **{k: float(v) for k, v in self._counts.items()},
        }

    @property
    def can_save(self) -> bool:
        """False while an update is under way, or after one was interrupted."""
        return not self._updating

    def learn(
        self,
        total_steps: int,
        callback: BaseCallback | Callable[["GRPO"], Any] | Sequence[BaseCallback] | None = None,
        *,
        eval_envs: VectorEnv[Any, Any, Any] | None = None,
        eval_every: int = 10,
        eval_episodes: int = 64,
        progress_bar: bool = False,
    ) -> "GRPO":
        """Trains until ``step`` is ``total_steps``.

        The number counts from the first step of the run, so that a resumed run calls it with the
        same number as the one that was interrupted. A KeyboardInterrupt passes through, after the
        callbacks' ``on_training_end`` (checkpoints are written there) and the writer's end.

        Args:
            total_steps: The step to reach.
            callback: One callback, several, or a function of the learner.
            eval_envs: Evaluates on these environments while training (None: not).
            eval_every: Steps between evaluations.
            eval_episodes: Episodes of an evaluation.
            progress_bar: Show one.

        Returns:
            The learner itself.

        Raises:
            ValueError: ``total_steps`` is negative.
        """
        if total_steps < 0:
            raise ValueError(f"total_steps must be >= 0, got {total_steps!r}")
        self.total_steps = total_steps
        parts = [as_callback(callback)]
        if eval_envs is not None:
            parts.insert(0, EvalCallback(eval_envs, every=eval_every, episodes=eval_episodes))
        if progress_bar and self.is_main_process:
            parts.append(ProgressBarCallback())
        self._run(CallbackList(parts))
        return self

    def log(self, scalars: Mapping[str, float]) -> None:
        """Adds scalars to the current step's row of ``history`` and to TensorBoard."""
        if not self.history or self.history[-1]["step"] != self.step:
            self.history.append({"step": self.step})
        self.history[-1].update(scalars)
        if self._writer is not None:
            self._writer.write(self.step, scalars)

    def save(self, path: str | Path) -> None:
        """Writes a checkpoint from which training continues bit for bit.

        In it are policy, optimizer, reference, generators, step, settings and the state of every
        wrapper of ``envs`` that has one. If a step is under way, it is the state before that step.

        The first of several processes writes, for all. While they are training, any may call this
        at any time; before and after, all of them must.

        Raises:
            RuntimeError: An update is under way, or was interrupted.
        """
        if self._updating:
            raise RuntimeError("cannot save in the middle of an update; use the last checkpoint")
        progress = self._boundary or self._all_progress()
        if not self.is_main_process:
            return
        state = {
            "format": _FORMAT,
            "settings": json.dumps(asdict(self.settings)),
            "policy": self.policy.state_dict(),
            "reference": None if self.reference is None else self.reference.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "progress": progress[0],
            "other_processes": progress[1:],
            "history": self.history,
        }
        checkpoint.write(path, state)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        policy: TokenPolicy,
        envs: VectorEnv[Any, Any, Any] | Sequence[VectorEnv[Any, Any, Any]],
        accelerator: "Accelerator | None" = None,
        tensorboard_log: str | Path | None = None,
        verbose: int = 0,
        **overrides: Any,
    ) -> "GRPO":
        """Restores a learner from a checkpoint.

        Args:
            path: What :meth:`save` wrote.
            policy: A policy of the same architecture; its weights are replaced.
            envs: Environments stacked as the saved ones; their wrappers' state is replaced.
            accelerator: As in the constructor, of as many processes as the saved run had.
            tensorboard_log: As in the constructor.
            verbose: As in the constructor.
            **overrides: Settings to change.

        Raises:
            FileNotFoundError: There is no such file.
            ValueError: The file is no checkpoint, ``envs`` is another stack, or the number of
                processes is another.
        """
        state = checkpoint.read(path)
        if state.get("format") != _FORMAT:
            raise ValueError(f"{str(path)!r} is no checkpoint of GRPO, or of another version")
        stored = json.loads(state["settings"])
        settings = GRPOSettings(**{**stored, "betas": tuple(stored["betas"]), **overrides})
        model = cls(
            policy,
            envs,
            settings,
            accelerator=accelerator,
            tensorboard_log=tensorboard_log,
            verbose=verbose,
        )
        model._restore(state)
        return model

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.policy.load_state_dict(state["policy"])
        if self.reference is not None:
            if state["reference"] is None:
                raise ValueError(
                    f"kl_coef must be 0 as in the checkpoint, which was made without a reference, "
                    f"got {self.settings.kl_coef!r}"
                )
            self.reference.load_state_dict(state["reference"])
        self._optimizer.load_state_dict(state["optimizer"])
        for group in self._optimizer.param_groups:  # the checkpoint's; the settings have the say
            group["betas"] = self.settings.betas
            group["weight_decay"] = self.settings.weight_decay
        progress = self._own_part([state["progress"], *state.get("other_processes", [])])
        self.step, self.history = progress["step"], list(state["history"])
        self._generator.set_state(progress["generator"])
        self._dealer.set_state(progress["dealer"])
        for name, (wall, cpu) in progress["seconds"].items():
            self._seconds[name].wall, self._seconds[name].cpu = wall, cpu
        self._counts = dict(progress["counts"])
        if (self._pipeline is None) != ("environments" in progress):
            raise ValueError(
                f"max_staleness must be 0 if it was when the checkpoint was made, and only then, "
                f"got {self.settings.max_staleness!r}"
            )
        if self._pipeline is None:
            checkpoint.load_environment_state(self.envs, progress["environments"])
        else:
            self._pipeline.load_state_dict(progress["pipeline"])

    def _own_part(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        if len(parts) != self._processes.count:
            raise ValueError(
                f"accelerator must have as many processes as the saved run, {len(parts)}, "
                f"got {self._processes.count}"
            )
        return parts[self._processes.rank]

    def _all_progress(self) -> list[dict[str, Any]]:
        return self._processes.gather(self._progress())

    def _progress(self) -> dict[str, Any]:
        """The small part of the state, which a step changes before its update."""
        if self._pipeline is None:
            environments = {"environments": checkpoint.environment_state(self.envs)}
        else:
            environments = {"pipeline": self._pipeline.state_dict()}
        return {
            **environments,
            "step": self.step,
            "generator": self._generator.get_state(),
            "dealer": self._dealer.get_state(),
            "seconds": {name: (part.wall, part.cpu) for name, part in self._seconds.items()},
            "counts": dict(self._counts),
        }

    def _run(self, callback: BaseCallback) -> None:
        callback.bind(self)
        self._boundary = None
        if self.is_main_process:
            self._writer = ScalarWriter(self.tensorboard_log, self.step + 1, self.verbose)
        finished = False
        try:
            callback.on_training_start()
            while self.step < self.total_steps:
                self._train_step(callback)
                if callback.on_step() is False:
                    break
            finished = True
        finally:
            self._stop(callback, finished)

    def _stop(self, callback: BaseCallback, finished: bool) -> None:
        try:
            callback.on_training_end()
        finally:
            if self._pipeline is not None:
                self._pipeline.settle() if finished else self._pipeline.abandon()
            if self._writer is not None:
                self._writer.close()
            self._writer = None

    def _train_step(self, callback: BaseCallback) -> None:
        if self._boundary is None:
            self._boundary = self._all_progress()
        rollout = self._collect()
        callback.on_rollout_end(rollout)
        self._updating = True
        rate = self._set_learning_rate()
        shared = self._processes.share(rollout)
        self._counts["episodes"] += len(shared.whole)
        self._counts["sampled_tokens"] += sum(map(len, shared.whole.samples.responses))
        advantages, report = self._seconds["update"].timed(self._update.apply, shared)
        self.step += 1
        # With others, the state is exchanged now: one of them may be stopped before it could save.
        self._boundary = None if self._processes.alone else self._all_progress()
        self._updating = False
        trained = {f"train/{name}": value for name, value in report.items()}
        times = {f"time/{k}": v for k, v in self.metrics.items() if k.endswith("seconds")}
        scalars = rollout_scalars(shared.whole, advantages)
        self.log({**scalars, **trained, "train/learning_rate": rate, **times})

    def _set_learning_rate(self) -> float:
        rate = self.settings.learning_rate_at(self.step, self.total_steps)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _collect(self) -> Rollout:
        if self._pipeline is None:
            seeds = self._reset_seeds(self.step)
            rollout = collect(self.policy, self.envs, seeds, generator=self._generator)
        else:
            rollout = self._pipeline.next(self.step, self.total_steps)
        for name in ("generation", "environment"):
            self._seconds[name].add(getattr(rollout, name))
        return rollout

    def _overlapping(self, envs: Sequence[VectorEnv[Any, Any, Any]]) -> Pipeline:
        waiting = self._seconds["waiting"]
        return Pipeline(self.policy, envs, self._reset_seeds, self._generator, waiting)

    def _reset_seeds(self, step: int) -> list[int]:
        """The groups are numbered over steps, and in a step over processes."""
        size = self.settings.group_size
        groups = self.envs.num_envs // size
        first = (step * self._processes.count + self._processes.rank) * groups
        return [self.settings.group_seed(first + i) for i in range(groups) for _ in range(size)]


def _settings(settings: GRPOSettings, overrides: Mapping[str, Any]) -> GRPOSettings:
    unknown = sorted(set(overrides) - SETTING_NAMES)
    if unknown:
        raise TypeError(f"unknown settings {unknown}; GRPO knows {sorted(SETTING_NAMES)}")
    return replace(settings, **overrides)


def _check_parts(policy: Any, envs: Sequence[Any], settings: GRPOSettings) -> None:
    if not isinstance(policy, TokenPolicy):
        raise TypeError(f"policy must be a TokenPolicy, got {type(policy).__name__}")
    if len(envs) != settings.max_staleness + 1:
        raise ValueError(
            f"max_staleness={settings.max_staleness!r} needs {settings.max_staleness + 1} "
            f"environments, got {len(envs)}"
        )
    for env in envs:
        _check_env(env, envs[0], settings.group_size)


def _check_env(env: Any, first: Any, group_size: int) -> None:
    if not isinstance(env, VectorEnv):
        raise TypeError(
            f"envs must be a gymnasium.vector.VectorEnv, got {type(env).__name__}; "
            "make one with gymnasium.make_vec"
        )
    if env.num_envs != first.num_envs:
        raise ValueError(f"envs must be of one size, got {first.num_envs} and {env.num_envs}")
    if env.num_envs % group_size:
        raise ValueError(
            f"group_size must divide envs.num_envs ({env.num_envs}), got {group_size!r}"
        )
