"""Recording what was executed, for world models to learn from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium as gym
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs

from wmrl_envs import info as keys
from wmrl_envs.spaces import UnicodeText
from wmrl_envs.wrappers.episodes import EpisodeRecorder
from wmrl_envs.wrappers.world_models.base import Episode
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode, write_log

__all__ = ["ExecutionLogWrapper"]


class ExecutionLogWrapper(gym.Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Adds every measured episode to an execution log.

    An episode is measured if its last step's info has ``measured_reward``, as that of AutoResearch
    has, and of any environment within an :class:`AnchorSamplingWrapper`. Rewards, observations and
    infos stay as they are. The file is documented in
    :mod:`wmrl_envs.wrappers.world_models.execution_log`.

    A vector version exists: :class:`wmrl_envs.wrappers.vector.ExecutionLogWrapper`.

    Args:
        env: An environment with text actions.
        path: The file, JSON Lines; what it holds is kept.

    Raises:
        ValueError: The actions of ``env`` are no texts.

    Example:
        >>> env = gym.make("wmrl_envs:WMRL/AutoResearch-v0")  # doctest: +SKIP
        >>> env = ExecutionLogWrapper(env, "log.jsonl")  # doctest: +SKIP
    """

    def __init__(self, env: gym.Env[ObsType, ActType], path: Path | str) -> None:
        check_text_actions(env.action_space)
        RecordConstructorArgs.__init__(self, path=str(path))
        gym.Wrapper.__init__(self, env)
        self._path = Path(path)
        self._recorder, self._name = EpisodeRecorder(None, 0), ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts an episode."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._recorder, self._name = EpisodeRecorder(obs, 0), info.get(keys.TASK, "")
        return obs, info

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment; at a measured episode's end writes a line."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._recorder.add(action)
        if terminated or truncated:
            write_log(
                self._path,
                measured_episode(self._recorder.episode(), self._name, info),
                append=True,
            )
        return obs, reward, terminated, truncated, info


def check_text_actions(space: gym.Space[Any]) -> None:
    """Raises ValueError unless actions are texts."""
    if not isinstance(space, UnicodeText | gym.spaces.Text):
        raise ValueError(f"an execution log holds texts, env has the action space {space}")


def measured_episode(episode: Episode, name: str, info: Mapping[str, Any]) -> list[LoggedEpisode]:
    """An ended episode as an entry of the log; none if it was not measured."""
    if keys.MEASURED_REWARD not in info:
        return []
    reward, status = float(info[keys.MEASURED_REWARD]), str(info.get(keys.GRADE_STATUS, ""))
    return [LoggedEpisode(episode.task, episode.actions, reward, status, str(name))]
