"""Vector infos row by row, and which sub-environments an autoreset mode starts and ends."""

from collections.abc import Mapping
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
    "own_infos",
    "places",
    "read_row",
    "reset_mask",
    "write_rows",
]

REWARD_PATH_KEYS = (
    keys.GROUP,
    keys.ANCHOR,
    keys.MEASURED_REWARD,
    keys.PREDICTED_REWARD,
    keys.GRADED,
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
        done = np.asarray(terminations, bool) | np.asarray(truncations, bool)
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


def places(mask: np.ndarray) -> list[int]:
    """Where a mask (N,) is True, as Python integers."""
    return np.flatnonzero(mask).tolist()


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
    row = {}
    for key in wanted:
        mask = infos.get(f"_{key}")
        if key in infos and (mask is None or mask[index]):
            value = infos[key][index]
            row[key] = value.item() if isinstance(value, np.generic) else value
    return row


def own_infos(infos: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that can be written to: environments may hand out arrays that they use again."""
    return {key: _own(value) for key, value in infos.items()}


def _own(value: Any) -> Any:
    if isinstance(value, Mapping):
        return own_infos(value)
    return value.copy() if isinstance(value, np.ndarray) else value


def write_rows(
    env: VectorEnv[Any, Any, Any], infos: dict[str, Any], rows: Mapping[int, Mapping[str, Any]]
) -> None:
    """Adds each row in its sub-environment's place, with Gymnasium's masks and array types."""
    for index, row in rows.items():
        env._add_info(infos, dict(row), index)


def apply_outcomes(
    env: VectorEnv[Any, Any, Any],
    infos: dict[str, Any],
    rewards: np.ndarray,
    outcomes: Mapping[int, Outcome],
) -> None:
    """Writes outcomes into the last steps' infos and the rewards (N,), both in place."""
    for index, outcome in outcomes.items():
        for key in outcome.removed:
            _remove(infos, key, index)
        if outcome.reward is not None:
            rewards[index] = outcome.reward
    write_rows(env, infos, {index: outcome.info for index, outcome in outcomes.items()})


def _remove(infos: dict[str, Any], key: str, index: int) -> None:
    if key not in infos:
        return
    mask = infos.setdefault(f"_{key}", np.ones(len(infos[key]), dtype=bool))
    infos[key][index], mask[index] = 0, False
    if not mask.any():
        del infos[key], infos[f"_{key}"]
