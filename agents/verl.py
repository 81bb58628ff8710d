"""WMRL on verl: pure functions of arrays, for the hook between rewards and the policy update.

verl (https://github.com/volcengine/verl) keeps a group's identity in
``non_tensor_batch["uid"]`` and may reorder rows, so nothing here relies on position. Nothing here
imports verl.

A batch passes three stages. Before the rollout, :func:`anchor_rows` says which prompts are
measured, and the mark travels with the row. The custom score function returns
``{"score": ..., "predicted_reward": ..., "measured_reward": ...}``, with NaN for what there is not,
which verl merges into ``non_tensor_batch``. After the rewards, :func:`token_advantages` replaces
the advantages. With the trainer of verl 0.9 that is::

    @register_trainer("wmrl_sync")
    class WMRLTrainer(PPOTrainerSync):
        def _compute_advantage(self, batch, metrics):
            batch = super()._compute_advantage(batch, metrics)
            extra = batch.non_tensor_batch
            batch.batch["advantages"] = torch.as_tensor(token_advantages(
                self.correction, extra["predicted_reward"], extra["measured_reward"],
                extra["anchor"], extra["uid"], batch.batch["response_mask"].numpy()))
            return batch

The recipe was read off verl's source and has not been run: verl needs a GPU and Ray.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmrl_envs.agents.advantages import Scale
from wmrl_envs.agents.corrected import Anchors, Correction, corrected_advantages

__all__ = ["anchor_rows", "token_advantages"]


def anchor_rows(anchors: Anchors, step: int, prompts: int) -> NDArray[np.bool_]:
    """Which prompts of a training step are measured.

    Prompt i of step t is group ``t * prompts + i``: a pure function of the place in the run, so
    that every worker agrees and the budget is exact.

    Args:
        anchors: The draw.
        step: The training step, from 0.
        prompts: Prompts a step, each of which becomes one group of rollouts.

    Returns:
        (prompts,) bool.

    Raises:
        ValueError: ``step`` is negative or ``prompts`` below 1.
    """
    if step < 0 or prompts < 1:
        raise ValueError(f"need step >= 0 and prompts >= 1, got {step!r} and {prompts!r}")
    return np.asarray(anchors(step * prompts + np.arange(prompts)), bool)


def token_advantages(
    correction: Correction,
    predicted: ArrayLike,
    measured: ArrayLike,
    anchor: ArrayLike,
    uid: Sequence[str] | np.ndarray,
    response_mask: np.ndarray,
    *,
    scale: Scale = "batch",
    std_floor: float = 1e-4,
) -> NDArray[np.float32]:
    """Corrected, weighted group advantages, one a token.

    Args:
        correction: It learns from the anchor groups first, in the order in which they appear.
        predicted: (N,) float, NaN for "no opinion".
        measured: (N,) float, NaN where nothing was measured or the measurement failed.
        anchor: (N,) bool, equal within a group.
        uid: (N,) the group of each row, in any order.
        response_mask: (N, T), 1 for tokens that the policy wrote.
        scale: The advantages' divisor; verl's own ``norm_adv_by_std_in_grpo`` plays no part.
        std_floor: The least divisor.

    Returns:
        (N, T) float32; 0.0 outside the mask and for ungraded rows.

    Raises:
        ValueError: Shapes differ, or a group is part anchor and part not.

    Example:
        >>> class Identity:
        ...     def update(self, groups): ...
        ...     def correct(self, predicted, measured, anchor):
        ...         import types
        ...         reward = np.where(anchor, measured, predicted)
        ...         return types.SimpleNamespace(reward=reward, weight=np.ones(len(reward)))
        >>> nan = float("nan")
        >>> token_advantages(Identity(), [0.5, 0.1, nan, nan], [nan, nan, 0.0, 1.0],
        ...     [False, False, True, True], ["b", "b", "a", "a"], np.ones((4, 1)), scale="none").T
        array([[ 0.2, -0.2, -0.5,  0.5]], dtype=float32)
    """
    is_anchor = np.asarray(anchor, bool)
    groups = _ids(uid)
    if len({(g, a) for g, a in zip(groups.tolist(), is_anchor.tolist(), strict=True)}) != len(
        set(groups.tolist())
    ):
        raise ValueError("anchor must be equal for all rows of a uid: a group is measured or not")
    found = corrected_advantages(
        correction,
        np.asarray(predicted, np.float64),
        np.asarray(measured, np.float64),
        is_anchor,
        groups,
        scale=scale,
        std_floor=std_floor,
    )
    result: NDArray[np.float32] = (found.advantages[:, None] * response_mask).astype(np.float32)
    return result


def _ids(uid: Sequence[str] | np.ndarray) -> NDArray[np.int64]:
    """0, 1, … in the order of appearance, so that a run does not depend on random uids."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(str(u), len(first)) for u in uid], np.int64)
