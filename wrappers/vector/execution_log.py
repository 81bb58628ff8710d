"""Recording what was executed in vector environments."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper

from wmrl_envs import info as keys
from wmrl_envs.wrappers.execution_log import check_text_actions, measured_episode
from wmrl_envs.wrappers.vector.recording import BatchRecorder
from wmrl_envs.wrappers.vector.rows import EpisodeClock, places, read_rows, reset_mask
from wmrl_envs.wrappers.world_models.execution_log import write_log

__all__ = ["ExecutionLogWrapper"]


class ExecutionLogWrapper(
    VectorWrapper[ObsType, ActType, ObsType, ActType, np.ndarray], RecordConstructorArgs
):
    """Adds every measured episode to an execution log: the vector version.

    It writes what single :class:`wmrl_envs.wrappers.ExecutionLogWrapper` around the
    sub-environments would: the episodes that end in one step in the sub-environments' order.

    Args:
        env: A vector environment with text actions.
        path: The file, JSON Lines; what it holds is kept.

    Raises:
        ValueError: The actions of ``env`` are no texts.
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, np.ndarray], path: Path | str) -> None:
        check_text_actions(env.single_action_space)
        RecordConstructorArgs.__init__(self, path=str(path))
        VectorWrapper.__init__(self, env)
        self._path, self._clock = Path(path), EpisodeClock(env)
        self._recorder = BatchRecorder(env)
        self._names = [""] * self.num_envs

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts episodes."""
        mask = reset_mask(options, self.num_envs)
        obs, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._clock.reset(mask)
        self._begin(places(mask), obs, infos)
        return obs, infos

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the environments; writes a line for each measured episode that ends."""
        taken = self._recorder.copied(actions)
        obs, rewards, terminations, truncations, infos = self.env.step(actions)
        phase = self._clock.step(terminations, truncations)
        self._recorder.add(taken, phase)
        self._write(places(phase.ended), self._clock.last_infos(infos))
        self._begin(places(phase.started), obs, infos)
        return obs, rewards, terminations, truncations, infos

    def _write(self, indices: list[int], infos: dict[str, Any]) -> None:
        wanted = (keys.MEASURED_REWARD, keys.GRADE_STATUS)
        ended = [
            measured_episode(self._recorder.episode(i), self._names[i], row)
            for i, row in read_rows(infos, indices, wanted).items()
        ]
        if any(ended):
            write_log(self._path, [episode for found in ended for episode in found], append=True)

    def _begin(self, indices: list[int], obs: ObsType, infos: dict[str, Any]) -> None:
        self._recorder.begin(indices, obs)
        for i, row in read_rows(infos, indices, (keys.TASK,)).items():
            self._names[i] = row.get(keys.TASK, "")
