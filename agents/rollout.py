"""Plays a batch of episodes, one a sub-environment, and keeps what the learner needs."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from wmrl_envs import info
from wmrl_envs.agents.policies.base import TokenBatch, TokenPolicy
from wmrl_envs.resets import task_text

__all__ = ["Collector", "Rollout", "Seconds", "batched_actions", "collect", "observation_at"]

_REWARD_KEYS = {
    "measured": info.MEASURED_REWARD,
    "predicted": info.PREDICTED_REWARD,
    "corrected": info.CORRECTED_REWARD,
}
_ARRAY_SPACES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


@dataclass
class Seconds:
    """Time spent, in seconds: by the clock and by this process's processors."""

    wall: float = 0.0
    cpu: float = 0.0

    def add(self, other: "Seconds") -> None:
        """Adds another's seconds."""
        self.wall += other.wall
        self.cpu += other.cpu

    def timed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls a function and adds what it took."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            self.wall += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu


@dataclass
class Rollout:
    """N episodes that were played to their end.

    Attributes:
        seeds: (N,), int64, the reset seeds.
        groups: (N,), int64: the ``group`` that the environment reported, else the reset seed.
        rewards: (N,), float64, the sum of each episode's rewards.
        graded: (N,), bool; False rows have no say in the update.
        weights: (N,), float64, factors of the advantages.
        measured: (N,), float64, NaN where the reward was not measured.
        predicted: (N,), float64, NaN where no world model predicted.
        corrected: (N,), float64, NaN where nothing was corrected.
        turns: (N,), int64, steps until the end.
        tasks: N task texts, "" in environments without text.
        statuses: N grade statuses, "" where the environment reported none.
        samples: S samples, one a turn, in the order in which they were drawn.
        episodes: (S,), int64, the episode of each sample.
        generation: Time spent sampling.
        environment: Time spent in the environment, world model included.
    """

    seeds: NDArray[np.int64]
    groups: NDArray[np.int64]
    rewards: NDArray[np.float64]
    graded: NDArray[np.bool_]
    weights: NDArray[np.float64]
    measured: NDArray[np.float64]
    predicted: NDArray[np.float64]
    corrected: NDArray[np.float64]
    turns: NDArray[np.int64]
    tasks: list[str]
    statuses: list[str]
    samples: TokenBatch = field(default_factory=TokenBatch)
    episodes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    generation: Seconds = field(default_factory=Seconds)
    environment: Seconds = field(default_factory=Seconds)

    def __len__(self) -> int:
        """Returns the number of episodes, N."""
        return len(self.rewards)

    def actions(self, episode: int) -> list[Any]:
        """Returns one episode's actions, a turn each."""
        return [self.samples.actions[i] for i in np.flatnonzero(self.episodes == episode)]


def collect(
    policy: TokenPolicy,
    envs: VectorEnv[Any, Any, Any],
    seeds: Sequence[int],
    *,
    generator: torch.Generator | None = None,
    deterministic: bool = False,
) -> Rollout:
    """Plays one episode in each sub-environment, reset with its own seed.

    A sub-environment that finished is frozen: whatever it does until the others are done is
    ignored. Environments with ``AutoresetMode.DISABLED`` must stand that (``AutoResearchVectorEnv``
    does; wrap others in ``wmrl_envs.wrappers.vector.FreezeWrapper``); with the other modes they may
    restart.

    Args:
        policy: Chooses the actions.
        envs: A vector environment of N sub-environments.
        seeds: N reset seeds; equal seeds form a group.
        generator: The policy's source of randomness.
        deterministic: Take the likeliest tokens.

    Raises:
        ValueError: The number of seeds is not ``envs.num_envs``.
    """
    if len(seeds) != envs.num_envs:
        raise ValueError(
            f"seeds must hold one seed a sub-environment ({envs.num_envs}), got {len(seeds)}"
        )
    return Collector(policy, envs, [int(s) for s in seeds], generator, deterministic).run()


class Collector:
    """A rollout while it is played: reset, then choose and step until no episode is live.

    Args:
        policy: See :func:`collect`.
        envs: See :func:`collect`.
        seeds: See :func:`collect`.
        generator: See :func:`collect`.
        deterministic: See :func:`collect`.

    Attributes:
        rollout: What is known so far; complete when ``is_live`` is False.
    """

    def __init__(
        self,
        policy: TokenPolicy,
        envs: VectorEnv[Any, Any, Any],
        seeds: list[int],
        generator: torch.Generator | None = None,
        deterministic: bool = False,
    ) -> None:
        self._policy, self._envs = policy, envs
        self._draw: dict[str, Any] = {"generator": generator, "deterministic": deterministic}
        self._live = np.ones(len(seeds), dtype=bool)
        self._last_actions: list[Any] = [None] * len(seeds)
        self.rollout = _blank(seeds)
        self._episodes: list[int] = []
        self._observations: Any = None

    @property
    def is_live(self) -> bool:
        """True while an episode goes on."""
        return bool(self._live.any())

    def run(self) -> Rollout:
        """Plays all episodes to their end."""
        self.reset()
        while self.is_live:
            self.note(self.step(self.take(self.choose())))
        return self.rollout

    def reset(self) -> None:
        """Starts the episodes."""
        rollout, n = self.rollout, len(self.rollout)
        seeds = rollout.seeds.tolist()
        self._observations, infos = rollout.environment.timed(self._envs.reset, seed=seeds)
        group, present = info.masked(infos, info.GROUP, n, 0)
        rollout.groups = np.where(present, group, rollout.seeds).astype(np.int64)
        space = self._envs.single_observation_space
        rollout.tasks = [task_text(observation_at(space, self._observations, i)) for i in range(n)]

    def choose(self) -> TokenBatch:
        """Asks the policy what the live episodes do next."""
        space = self._envs.single_observation_space
        live = np.flatnonzero(self._live).tolist()
        seen = [observation_at(space, self._observations, i) for i in live]
        batch: TokenBatch = self.rollout.generation.timed(self._policy.act, seen, **self._draw)
        return batch

    def take(self, batch: TokenBatch) -> Any:
        """Notes what the live episodes do next; returns the actions of all, for :meth:`step`."""
        live = np.flatnonzero(self._live).tolist()
        for i, action in zip(live, batch.actions, strict=True):
            self._last_actions[i] = action
        self.rollout.samples.extend(batch)
        self._episodes.extend(live)
        return batched_actions(self._envs.single_action_space, self._last_actions)

    def step(self, actions: Any) -> tuple[Any, ...]:
        """Steps the environment, in whichever thread; its answer is for :meth:`note`."""
        answer: tuple[Any, ...] = self.rollout.environment.timed(self._envs.step, actions)
        return answer

    def note(self, answer: tuple[Any, ...]) -> None:
        """Takes in what the environment answered."""
        self._observations, rewards, ended, cut, infos = answer
        self._note(np.asarray(rewards), np.asarray(ended) | np.asarray(cut), infos)
        self.rollout.episodes = np.asarray(self._episodes, dtype=np.int64)

    def _note(self, rewards: np.ndarray, done: np.ndarray, infos: Mapping[str, Any]) -> None:
        rollout, live = self.rollout, self._live
        rollout.rewards[live] += rewards[live]
        rollout.turns[live] += 1
        finished = live & done
        if finished.any():
            self._read(finished, _final(infos))
        self._live = live & ~done

    def _read(self, rows: np.ndarray, infos: Mapping[str, Any]) -> None:
        rollout, n = self.rollout, len(self.rollout)
        rollout.graded[rows] = info.masked(infos, info.GRADED, n, True)[0][rows]
        rollout.weights[rows] = info.masked(infos, info.REWARD_WEIGHT, n, 1.0)[0][rows]
        for name, key in _REWARD_KEYS.items():
            getattr(rollout, name)[rows] = info.masked(infos, key, n, float("nan"))[0][rows]
        status = info.masked(infos, info.GRADE_STATUS, n, "")[0]
        for i in np.flatnonzero(rows):
            rollout.statuses[i] = str(status[i])


def observation_at(space: spaces.Space[Any], observations: Any, index: int) -> Any:
    """Returns one sub-environment's observation out of a batch.

    Args:
        space: The single observation space.
        observations: What a vector environment returned.
        index: The sub-environment.
    """
    if isinstance(space, spaces.Dict):
        return {key: observation_at(s, observations[key], index) for key, s in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(observation_at(s, o, index) for s, o in zip(space, observations, strict=True))
    return observations[index]


def batched_actions(space: spaces.Space[Any], actions: Sequence[Any]) -> Any:
    """Stacks single actions as a vector environment wants them: an array, or a tuple for text."""
    if isinstance(space, _ARRAY_SPACES):
        return np.stack([np.asarray(action, dtype=space.dtype) for action in actions])
    return tuple(actions)


def _final(infos: Mapping[str, Any]) -> Mapping[str, Any]:
    """With same-step autoreset the last step's infos stand in ``final_info``."""
    return infos["final_info"] if "final_info" in infos else infos


def _blank(seeds: list[int]) -> Rollout:
    n = len(seeds)
    return Rollout(
        seeds=np.asarray(seeds, dtype=np.int64),
        groups=np.asarray(seeds, dtype=np.int64),
        rewards=np.zeros(n),
        graded=np.ones(n, dtype=bool),
        weights=np.ones(n),
        measured=np.full(n, np.nan),
        predicted=np.full(n, np.nan),
        corrected=np.full(n, np.nan),
        turns=np.zeros(n, dtype=np.int64),
        tasks=[""] * n,
        statuses=[""] * n,
    )
