"""Vector infos row by row, and which sub-environments an autoreset mode starts and ends."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from wmrl_envs import info as keys
from wmrl_envs.wrappers.outcomes import Outcome

__all__ = [
    "REWARD_PATH_KEYS",
    "EpisodeClock",
    "Phase",
    "apply_outcomes",
    "places",
    "read_row",
    "read_rows",
    "reset_mask",
    "write_rows",
]

REWARD_PATH_KEYS = (
    keys.GROUP,
    keys.ANCHOR,
    keys.MEASURED_REWARD,
    keys.PREDICTED_REWARD,
    keys.GRADED,
    keys.LOST,
)


class Phase(NamedTuple):
    """What a vector step did, (N,) bool each.

    Attributes:
        stepped: The action was taken. False where a sub-environment was reset instead or is frozen.
        ended: The step was the last of an episode.
        started: An autoreset started another episode in this step.
    """

    stepped: np.ndarray
    ended: np.ndarray
    started: np.ndarray


class EpisodeClock:
    """Follows the episodes of a vector environment through its autoreset mode.

    Under DISABLED a sub-environment that is done stays frozen until it is reset.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._over = np.zeros(env.num_envs, dtype=bool)

    def reset(self, mask: np.ndarray) -> None:
        """The sub-environments in ``mask`` (N,) were reset."""
        self._over[mask] = False

    def step(self, terminations: np.ndarray, truncations: np.ndarray) -> Phase:
        """A step returned these (N,) flags."""
        done = np.logical_or(terminations, truncations)
        if self.mode == AutoresetMode.SAME_STEP:
            return Phase(np.ones_like(done), done, done)
        over = self._over
        stepped = ~over
        ended = stepped & done
        if self.mode == AutoresetMode.NEXT_STEP:
            self._over = ended
            return Phase(stepped, ended, over)
        self._over = over | ended
        return Phase(stepped, ended, np.zeros_like(done))

    def last_infos(self, infos: dict[str, Any]) -> dict[str, Any]:
        """The infos of the last steps: nested under SAME_STEP, whose outer ones are the resets'."""
        if self.mode == AutoresetMode.SAME_STEP:
            return infos.get("final_info", {})
        return infos

    def opened(self, infos: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Infos that :func:`write_rows` may add to, and those of the last steps among them."""
        own = dict(infos)
        if self.mode == AutoresetMode.SAME_STEP and "final_info" in own:
            own["final_info"] = dict(own["final_info"])
        return own, self.last_infos(own)


def places(mask: np.ndarray) -> list[int]:
    """Where a mask (N,) is True, as Python integers."""
    return mask.nonzero()[0].tolist()


def reset_mask(options: Mapping[str, Any] | None, num_envs: int) -> np.ndarray:
    """Which sub-environments ``options["reset_mask"]`` resets: (N,) bool, by default all.

    Raises:
        ValueError: The mask has another shape.
    """
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(num_envs, dtype=bool)
    if np.shape(mask) != (num_envs,):
        raise ValueError(f"options['reset_mask'] must have shape ({num_envs},), got {mask!r}")
    return np.array(mask, dtype=bool)


def read_row(
    infos: Mapping[str, Any], index: int, wanted: tuple[str, ...] = REWARD_PATH_KEYS
) -> dict[str, Any]:
    """Some keys of one sub-environment, as Python values; absent ones left out."""
    return read_rows(infos, [index], wanted)[index]


def read_rows(
    infos: Mapping[str, Any], indices: Sequence[int], wanted: tuple[str, ...] = REWARD_PATH_KEYS
) -> dict[int, dict[str, Any]]:
    """Some keys of some sub-environments, as Python values; absent ones left out."""
    rows: dict[int, dict[str, Any]] = {i: {} for i in indices}
    for key in wanted if rows else ():
        column = infos.get(key)
        if column is None:
            continue
        mask = infos.get(f"_{key}")
        for i, row in rows.items():
            if mask is None or mask[i]:
                value = column[i]
                row[key] = value.item() if isinstance(value, np.generic) else value
    return rows


def write_rows(infos: dict[str, Any], rows: Mapping[int, Mapping[str, Any]], num_envs: int) -> None:
    """Adds each row in its sub-environment's place, with Gymnasium's masks and array types.

    Columns that are there already are copied first: environments may hand out arrays that they use
    again.
    """
    opened: dict[str, tuple[Any, np.ndarray]] = {}
    for index, row in rows.items():
        for key, value in row.items():
            if key not in opened:
                opened[key] = _open(infos, key, type(value), num_envs)
            column, mask = opened[key]
            column[index], mask[index] = value, True


def _open(infos: dict[str, Any], key: str, kind: type, num_envs: int) -> tuple[Any, np.ndarray]:
    """A column of ``infos`` and its mask, to be written to."""
    column, mask = infos.get(key), infos.get(f"_{key}")
    if column is not None:
        column = column.copy()
    elif kind in (int, float, bool):
        column = np.zeros(num_envs, dtype=kind)
    else:
        column = np.full(num_envs, fill_value=None, dtype=object)
    mask = np.zeros(num_envs, dtype=bool) if mask is None else mask.copy()
    infos[key], infos[f"_{key}"] = column, mask
    return column, mask


def apply_outcomes(
    infos: dict[str, Any],
    rewards: np.ndarray,
    outcomes: Mapping[int, Outcome],
) -> None:
    """Writes outcomes into the last steps' infos and the rewards (N,), both in place."""
    removed: dict[str, list[int]] = {}
    for index, outcome in outcomes.items():
        for key in outcome.removed:
            removed.setdefault(key, []).append(index)
        if outcome.reward is not None:
            rewards[index] = outcome.reward
    for key, indices in removed.items():
        _remove(infos, key, indices)
    rows = {index: outcome.info for index, outcome in outcomes.items()}
    write_rows(infos, rows, len(rewards))


def _remove(infos: dict[str, Any], key: str, indices: list[int]) -> None:
    if key not in infos:
        return
    column, mask = infos[key].copy(), infos.get(f"_{key}")
    mask = np.ones(len(column), dtype=bool) if mask is None else mask.copy()
    column[indices], mask[indices] = 0, False
    infos[key], infos[f"_{key}"] = column, mask
    if not mask.any():
        del infos[key], infos[f"_{key}"]
