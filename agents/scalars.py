"""What a training step logs: scalars of its rollout, and where they are written."""

import logging
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wmrl_envs.agents.advantages import Advantages
from wmrl_envs.agents.rollout import Rollout

__all__ = ["ScalarWriter", "action_key", "finite_mean", "rollout_scalars"]

_LOGGER = logging.getLogger("wmrl_envs.agents")


def rollout_scalars(rollout: Rollout, advantages: Advantages) -> dict[str, float]:
    """Summarises a rollout; what is unknown is absent.

    Returns:
        Means over graded episodes of the reward; over the episodes that have them of the measured,
        predicted and corrected rewards; the shares of graded and of measured episodes; the mean
        weight and turns; the advantages' standard deviation; tokens and entropy (nats a token, the
        sampled estimate) of the answers; the share of distinct actions.
    """
    lengths = [len(response) for response in rollout.samples.responses]
    log_probs = [p for row in rollout.samples.log_probs for p in row]
    keys = {action_key(action) for action in rollout.samples.actions}
    scalars = {
        "rollout/reward_mean": finite_mean(rollout.rewards[rollout.graded]),
        "rollout/measured_mean": finite_mean(rollout.measured),
        "rollout/predicted_mean": finite_mean(rollout.predicted),
        "rollout/corrected_mean": finite_mean(rollout.corrected),
        "rollout/graded_share": float(rollout.graded.mean()),
        "rollout/measured_share": float(np.isfinite(rollout.measured).mean()),
        "rollout/weight_mean": finite_mean(rollout.weights[rollout.graded]),
        "rollout/turns_mean": float(rollout.turns.mean()),
        "rollout/advantage_std": float(advantages.values.std()),
        "rollout/zero_advantage_share": float((advantages.values == 0).mean()),
        "rollout/response_tokens_mean": finite_mean(np.asarray(lengths, dtype=float)),
        "rollout/entropy": -finite_mean(np.asarray(log_probs)),
        "rollout/unique_action_share": len(keys) / max(len(lengths), 1),
    }
    return {name: value for name, value in scalars.items() if np.isfinite(value)}


def action_key(action: Any) -> Hashable:
    """Returns something hashable that is equal for equal actions."""
    return action if isinstance(action, str) else np.asarray(action).tobytes()


class ScalarWriter:
    """Writes scalars to TensorBoard and, one line a step, to the log of this package.

    Args:
        folder: TensorBoard's folder; None: none.
        first_step: Events of an earlier run from this step on are purged, so that a resumed run
            leaves one curve.
        verbose: 0: silent; 1: a line a step at level INFO.
    """

    def __init__(self, folder: str | Path | None, first_step: int, verbose: int = 0) -> None:
        self._verbose = verbose
        self._writer: Any = None
        if folder is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(folder), purge_step=first_step)

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """Writes the scalars of one step."""
        if self._writer is not None:
            for name, value in scalars.items():
                self._writer.add_scalar(name, value, step)
        if self._verbose:
            _LOGGER.info("step %d %s", step, {k: round(v, 4) for k, v in scalars.items()})

    def close(self) -> None:
        """Writes out what is buffered."""
        if self._writer is not None:
            self._writer.close()


def finite_mean(values: np.ndarray) -> float:
    """The mean of the finite values; NaN if there is none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
