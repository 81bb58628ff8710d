"""WMRL on TRL: anchors, correction and weights around ``trl.GRPOTrainer`` (``trl>=1.10``)."""

import copy
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerState
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOConfig, GRPOTrainer

from wmrl_envs.agents.advantages import Scale
from wmrl_envs.agents.corrected import Anchors, Correction, corrected_advantages
from wmrl_envs.agents.scalars import finite_mean
from wmrl_envs.agents.trl_rewards import ANCHOR, GROUP, TrainingOnly, on_anchors

__all__ = ["WMRLGRPOTrainer"]

_STATE = "wmrl.npz"
_NEXT_GROUP = "trainer/next_group"
_ROUNDING = 1e-6
_OVERRIDDEN = {
    "_generate_and_score_completions": ["self", "inputs"],
    "_calculate_rewards": ["self", "inputs", "prompts", "completions", "completion_ids_list"],
    "_get_train_sampler": ["self", "dataset"],
    "_save_checkpoint": ["self", "model", "trial"],
    "_load_optimizer_and_scheduler": ["self", "checkpoint"],
}


class WMRLGRPOTrainer(GRPOTrainer):
    """``trl.GRPOTrainer`` whose rewards a world model predicts and anchors correct.

    At each generation, ``measure`` is called for the completions of anchor groups alone and
    ``predict`` for all; the anchors' pairs enter the correction, and the corrected rewards and
    weights become the advantages of :func:`~wmrl_envs.agents.advantages.group_advantages`, the same
    as in this package's own GRPO. Evaluation measures every completion and leaves the correction
    alone. Groups may straddle processes. Checkpoints hold the correction and the group counter.

    Args:
        model: As in TRL; so are ``train_dataset`` and all other keyword arguments (``peft_config``,
            ``environment_factory``, ``rollout_func``, vLLM options in ``args`` …).
        measure: A TRL reward function, sync or async, that measures by execution. It sees rows of
            anchor groups alone and returns None where the infrastructure failed.
        predict: A TRL reward function that predicts; None where it has no opinion.
        anchors: Which groups are measured, such as
            ``wmrl_envs.wrappers.estimators.anchors.AnchorDraw(fraction=0.1, seed=0)``.
        correction: Such as ``wmrl_envs.wrappers.estimators.correction.Correction()``.
        scale: The advantages' divisor, in place of ``args.scale_rewards``, whose default "group"
            would undo the factor that the rectified correction puts into an anchor group's rewards.
        std_floor: The least divisor.
        args: As in TRL; not changed.

    Raises:
        ImportError: TRL's inner methods do not have the form that this class overrides.
        ValueError: ``reward_funcs`` or ``multi_objective_aggregation`` is given: both are settled
            by ``measure`` and ``predict``.

    Example::

        trainer = WMRLGRPOTrainer(
            "Qwen/Qwen2.5-0.5B-Instruct",
            measure=run_tests,
            predict=world_model_reward,
            anchors=AnchorDraw(fraction=0.1, seed=0),
            correction=Correction(),
            args=GRPOConfig("out", num_generations=8),
            train_dataset=dataset,
        )
        trainer.train()
    """

    def __init__(
        self,
        model: Any,
        measure: Callable[..., Any],
        predict: Callable[..., Any],
        *,
        anchors: Anchors,
        correction: Correction,
        scale: Scale = "batch",
        std_floor: float = 1e-4,
        args: GRPOConfig | None = None,
        **kwargs: Any,
    ) -> None:
        check_trl(GRPOTrainer)
        if "reward_funcs" in kwargs:
            raise ValueError("reward_funcs are settled by measure and predict; pass those alone")
        self.anchors, self.correction = anchors, correction
        self._scale, self._std_floor = scale, std_floor
        self._next_group = 0
        self._anchor = np.zeros(0, bool)
        self._advantages = np.zeros(0)
        predicting = TrainingOnly(predict, lambda: bool(self.model.training))
        super().__init__(
            model,
            reward_funcs=[predicting, on_anchors(measure)],
            args=_settled(args, scale),
            **kwargs,
        )

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        local = len(inputs)
        first = self.accelerator.process_index * local
        groups = self._groups(local * self.accelerator.num_processes)
        training = self.model.training
        self._anchor = self.anchors(groups) if training else np.ones(len(groups), bool)
        mine = slice(first, first + local)
        marks = zip(groups[mine].tolist(), self._anchor[mine].tolist(), strict=True)
        output: dict[str, Any] = super()._generate_and_score_completions(
            [
                {**row, GROUP: group, ANCHOR: anchor}
                for row, (group, anchor) in zip(inputs, marks, strict=True)
            ]
        )
        if training:
            self._next_group = int(groups[-1]) + 1
            output["advantages"] = torch.as_tensor(self._advantages[mine]).to(output["advantages"])
        return output

    def _groups(self, rows: int) -> np.ndarray:
        """(rows,) ids: consecutive over the run, so that the anchors' budget is exact."""
        size = self.num_generations if self.model.training else self.num_generations_eval
        return self._next_group + np.arange(rows) // size

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> torch.Tensor:
        found: torch.Tensor = super()._calculate_rewards(
            inputs, prompts, completions, completion_ids_list
        )
        if not self.model.training:
            return found
        predicted, measured = found.double().cpu().numpy().T
        reward = torch.as_tensor(self._correct(predicted, measured)).to(found)
        # TRL adds the columns up, without NaN: each row's reward stands in the column of its kind.
        anchor = torch.as_tensor(self._anchor, device=found.device)
        nothing = torch.full_like(reward, torch.nan)
        columns = (torch.where(anchor, nothing, reward), torch.where(anchor, reward, nothing))
        return torch.stack(columns, dim=1)

    def _correct(self, predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """Settles the advantages and returns the rewards; all (N,)."""
        found = corrected_advantages(
            self.correction,
            predicted,
            measured,
            self._anchor,
            self._groups(len(predicted)),
            scale=self._scale,
            std_floor=self._std_floor,
        )
        self._advantages = found.advantages
        self._log_correction(predicted, measured, found.graded)
        return found.rewards

    def _log_correction(
        self, predicted: np.ndarray, measured: np.ndarray, graded: np.ndarray
    ) -> None:
        figures = {
            **self.correction.diagnostics(),
            "graded": float(graded.mean()),
            "predicted_reward": finite_mean(predicted),
            "measured_reward": finite_mean(measured),
        }
        for name, figure in figures.items():
            self._metrics["train"][f"wmrl/{name}"].append(figure)

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        self._sampler = super()._get_train_sampler(dataset)
        return self._sampler

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        if self.args.should_save:
            name = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
            path = Path(self._get_output_dir(trial=trial)) / name / _STATE
            state = {_NEXT_GROUP: self._next_group, **self.correction.state_dict()}
            with path.open("wb") as file:
                np.savez(file, **state)

    def _load_optimizer_and_scheduler(self, checkpoint: Any) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        self._skip_epochs(Path(checkpoint))
        with np.load(Path(checkpoint) / _STATE, allow_pickle=False) as state:
            self._next_group = int(state[_NEXT_GROUP])
            self.correction.load_state_dict(
                {key: state[key] for key in state.files if key != _NEXT_GROUP}
            )

    def _skip_epochs(self, checkpoint: Path) -> None:
        """Draws the orders of past epochs, which TRL's sampler would otherwise repeat."""
        state = TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))
        for _ in range(int((state.epoch or 0.0) + _ROUNDING)):
            next(iter(self._sampler), None)


def check_trl(trainer: type) -> None:
    """Fails loudly on a TRL whose inner methods have changed.

    Raises:
        ImportError: Naming the method and both signatures.
    """
    for name, expected in _OVERRIDDEN.items():
        method = getattr(trainer, name, None)
        found = list(inspect.signature(method).parameters) if method else None
        if found != expected:
            raise ImportError(
                f"WMRLGRPOTrainer overrides GRPOTrainer.{name}({', '.join(expected)}), but this "
                f"TRL has {found}; install trl>=1.10,<2 or a newer wmrl-envs"
            )


def _settled(args: GRPOConfig | None, scale: Scale) -> GRPOConfig | None:
    """A copy of the arguments that divides as we do, for TRL's own logs."""
    if args is None:
        return None
    if args.multi_objective_aggregation != "sum_then_normalize":
        raise ValueError(
            "multi_objective_aggregation must be 'sum_then_normalize': prediction and measurement "
            f"are one objective, got {args.multi_objective_aggregation!r}"
        )
    settled = copy.copy(args)
    settled.scale_rewards = scale
    return settled
