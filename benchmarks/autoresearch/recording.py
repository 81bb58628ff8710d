"""The callback that records a run and lets its world model learn from the anchors."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gymnasium.vector import VectorEnv

from wmrl_envs.agents.callbacks import BaseCallback, CheckpointCallback
from wmrl_envs.agents.rollout import Rollout
from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.autoresearch.evaluation import Evaluator
from wmrl_envs.benchmarks.autoresearch.records import Costs, append_line, read_lines
from wmrl_envs.benchmarks.autoresearch.setup import (
    GradingModel,
    execution_costs,
    logged_episodes,
)
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode


class Recorder(BaseCallback):
    """Writes ``steps.jsonl``, ``evaluations.jsonl`` and ``anchors.jsonl``; refits the world model.

    Args:
        config: The run's settings.
        folder: The run folder. What it holds of earlier steps is continued.
        envs: The arm's stack of wrappers.
        evaluator: Measures the policy.
        world_model: The arm's world model, if it has one.

    Attributes:
        recorded: The last step that is recorded in full; -1 before the start is.
    """

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        envs: VectorEnv,
        evaluator: Evaluator,
        world_model: GradingModel | None,
    ) -> None:
        self._config, self._folder, self._envs = config, folder, envs
        self._evaluator, self._world_model = evaluator, world_model
        steps = read_lines(folder / "steps.jsonl")
        self._before = Costs(**steps[-1]["costs"]) if steps else Costs()
        self._start = Costs()
        self.recorded = -1

    def on_training_start(self) -> None:
        """Evaluates the start, or brings a resumed run's world model to where it was."""
        if self.model.step > 0:
            self._catch_up()
        elif not read_lines(self._folder / "evaluations.jsonl"):
            self._evaluate(self._config.final_episodes)
        self.recorded = self.model.step

    def on_rollout_end(self, rollout: Rollout) -> None:
        """Keeps the executed anchor episodes for the world model."""
        if self._config.refit_every and self._world_model is not None:
            for logged in logged_episodes(rollout):
                record = {"step": self.model.step + 1, **vars(logged)}
                append_line(self._folder / "anchors.jsonl", record)

    def on_step(self) -> bool:
        """Records the step, refits and evaluates if it is time."""
        config, step = self._config, self.model.step
        if config.refit_every and step % config.refit_every == 0:
            self._refit(step)
        record: dict[str, Any] = {"step": step, "costs": asdict(self.costs())}
        record |= {k: v for k, v in self.model.history[-1].items() if not k.startswith("time/")}
        if hasattr(self._envs, "diagnostics"):
            record["correction"] = self._envs.diagnostics()
        append_line(self._folder / "steps.jsonl", record)
        if step == config.steps:
            self._evaluate(config.final_episodes)
        elif step % config.eval_every == 0 and config.eval_episodes:
            self._evaluate(config.eval_episodes)
        self.recorded = step
        return True

    def costs(self) -> Costs:
        """What training has cost so far, the world model's log left out."""
        return self._before + execution_costs(self._envs) + self._computed() - self._start

    def _computed(self) -> Costs:
        """CPU seconds by the clocks of this process's world model and of the learner."""
        seconds, world_model = self.model.metrics, self._world_model
        return Costs(
            world_model=world_model.cpu_seconds if world_model is not None else 0.0,
            generation=seconds["generation_cpu_seconds"],
            update=seconds["update_cpu_seconds"],
        )

    def _evaluate(self, episodes: int) -> None:
        spent = self.costs()
        world_seconds = self._world_model.cpu_seconds if self._world_model is not None else 0.0
        correction = getattr(self._envs, "estimator", None)
        results = self._evaluator(self.model.policy, episodes, self._world_model, correction)
        if self._world_model is not None:
            self._world_model.cpu_seconds = world_seconds
        record = {"step": self.model.step, "costs": asdict(spent), **results}
        append_line(self._folder / "evaluations.jsonl", record)

    def _refit(self, until: int) -> None:
        if self._world_model is None:
            return
        anchors = read_lines(self._folder / "anchors.jsonl")
        further = [_logged(record) for record in anchors if record["step"] <= until]
        if further:
            self._world_model.refit(further)

    def _catch_up(self) -> None:
        """Learns again what the last process knew; that has been paid for in the steps before."""
        every = self._config.refit_every
        if every and self.model.step >= every:
            self._refit(self.model.step // every * every)
        self._start = self._computed()


def _logged(record: dict[str, Any]) -> LoggedEpisode:
    fields = {name: value for name, value in record.items() if name != "step"}
    return LoggedEpisode(**{**fields, "actions": tuple(fields["actions"])})


class RecordedCheckpoint(CheckpointCallback):
    """Keeps the learner as of a step that is recorded in full.

    An interrupt between a step's update and the end of its evaluation would otherwise leave a
    checkpoint from which that evaluation is never made up for.

    Args:
        path: The checkpoint.
        every: Steps between checkpoints.
        recorder: Comes before this callback in their list.
    """

    def __init__(self, path: Path, every: int, recorder: Recorder) -> None:
        super().__init__(path, every)
        self._recorder = recorder

    def on_training_end(self) -> None:
        """Saves what is not saved yet."""
        if self._recorder.recorded == self.model.step:
            super().on_training_end()
