"""A text environment as TRL's tool environments are: ``reset`` and one tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from wmrl_envs import info as keys
from wmrl_envs.agents.trl_rewards import ANCHOR
from wmrl_envs.resets import task_text

__all__ = ["Played", "ToolEnvironment", "grade_answers"]

_OVER = "The episode is over. Answer without a further submission."


@dataclass(frozen=True)
class Played:
    """An episode as world models see one.

    Attributes:
        task: The task's text.
        actions: The actions taken.
        initial_observation: Not kept.
        frames: Not kept.
    """

    task: str
    actions: tuple[str, ...]
    initial_observation: Any = None
    frames: Any = None


class ToolEnvironment:
    """One episode at a time, reused by TRL for many rows. Its public methods are the model's tools.

    Args:
        env_id: A text environment's id.
        env_kwargs: Its arguments.
        world_model: Its feedback stands in where nothing is executed; None: the environment's does.
    """

    def __init__(self, env_id: str, env_kwargs: Mapping[str, Any], world_model: Any = None) -> None:
        self._env: gym.Env[Any, str] = gym.make(env_id, **env_kwargs)
        self._world_model = world_model

    def reset(self, seed: int | None = None, **row: Any) -> str:
        """Starts the episode of a dataset row; returns the task, which TRL shows to the model."""
        self._execute = bool(row.get(ANCHOR, True))
        options = {"execute": self._execute}
        observation, self._info = self._env.reset(seed=seed, options=options)
        self._task = task_text(observation)
        self._actions: tuple[str, ...] = ()
        self._reward, self._is_over = 0.0, False
        return self._task

    def submit(self, answer: str) -> str:
        """
        Submit a solution and learn what became of it.

        Args:
            answer: The complete solution, such as the source of a program.

        Returns:
            What became of it.
        """  # noqa: D212 - the form that the tool's schema is read from
        if self._is_over:
            return _OVER
        told = self._step(answer)
        return told if not self._is_over else f"{told}\n{_OVER}"

    def _step(self, answer: str) -> str:
        observation, reward, ended, cut, self._info = self._env.step(answer)
        self._actions += (answer,)
        self._reward += float(reward)
        self._is_over = ended or cut
        if not self._execute and self._world_model is not None and not self._is_over:
            [prediction] = self._world_model.predict([self._played()])
            if prediction.feedback:
                return str(prediction.feedback)
        return str(observation.get("feedback", "")) if isinstance(observation, Mapping) else ""

    def _played(self) -> Played:
        """The episode so far; one without a submission answered nothing."""
        return Played(self._task, self._actions or ("",))

    def _finish(self) -> float | None:
        """Ends the episode, for the model has nothing more to say; None where it is ungraded."""
        actions = self._actions
        while not self._is_over:
            self._step("")
        self._actions = actions
        return self._reward if self._info.get(keys.GRADED, True) else None


def grade_answers(
    env_id: str, env_kwargs: Mapping[str, Any], seeds: Sequence[int], answers: Sequence[str]
) -> list[float | None]:
    """Measures episodes of one action, executed as one batch.

    Args:
        env_id: A text environment's id.
        env_kwargs: Its arguments.
        seeds: N reset seeds.
        answers: N actions.

    Returns:
        N rewards; None where an episode is ungraded.
    """
    envs: Any = gym.make_vec(env_id, num_envs=len(answers), **env_kwargs)
    try:
        envs.reset(seed=list(seeds))
        _, rewards, *_, infos = envs.step(tuple(answers))
    finally:
        envs.close()
    graded, _ = keys.masked(infos, keys.GRADED, len(answers), True)
    pairs = zip(np.asarray(rewards).tolist(), graded, strict=True)
    return [reward if ok else None for reward, ok in pairs]
