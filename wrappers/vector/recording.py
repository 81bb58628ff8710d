"""Recording the episodes of all sub-environments at once: one copy of the actions a step."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, MultiBinary, MultiDiscrete
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import iterate

from wmrl_envs.resets import task_text
from wmrl_envs.wrappers.frames import FrameSampler, draws_the_past
from wmrl_envs.wrappers.vector.rows import Phase, places
from wmrl_envs.wrappers.world_models.base import Episode

__all__ = ["BatchRecorder"]

_ROW_SPACES = (Box, MultiBinary, MultiDiscrete)
_SHORTEST_TRIM = 64


class BatchRecorder:
    """Gathers the episodes of a vector environment; a step that ends none costs one array copy.

    What :class:`wmrl_envs.wrappers.episodes.EpisodeRecorder` is for one environment. The batched
    actions of each step are kept whole and cut into an episode's own only when it is asked for.
    Steps that no running episode needs any more are forgotten.

    Args:
        env: The vector environment, which renders the frames.
        frames: How many frames to spread over an episode; 0 for none.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make_vec("CartPole-v1", 2, "vector_entry_point")
        >>> recorder = BatchRecorder(env)
        >>> recorder.begin([0, 1], env.reset(seed=0)[0])
        >>> on, off = np.array([True, True]), np.array([False, False])
        >>> for actions in np.array([[0, 1], [1, 1]]):
        ...     recorder.add(recorder.copied(actions), Phase(on, off, off))
        >>> [action.item() for action in recorder.episode(0).actions]
        [0, 1]
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], frames: int = 0) -> None:
        # Frames of moments that have passed are drawn when an episode is asked for.
        self._late = frames if draws_the_past(env) else 0
        self._env, self._frames = env, frames - self._late
        self._action_space, self._observation_space = env.action_space, env.observation_space
        self._observations: list[Any] = [None] * env.num_envs
        self._samplers = [FrameSampler(frames) for _ in range(env.num_envs)]
        # Steps are numbered from the first ever; `_kept` begins with step `_first`.
        self._kept: list[Any] = []
        self._first, self._limit = 0, _SHORTEST_TRIM
        self._start, self._stop = [0] * env.num_envs, [0] * env.num_envs

    def begin(self, indices: Sequence[int], observations: Any) -> None:
        """Episodes begin in these sub-environments with these batched observations."""
        if not indices:
            return
        rows = _copied_rows(self._observation_space, observations, indices)
        now = self._first + len(self._kept)
        for i, row in zip(indices, rows, strict=True):
            self._observations[i], self._start[i], self._stop[i] = row, now, -1
        self._see_first(indices)

    def copied(self, actions: Any) -> Any:
        """The batched actions as they are now: callers and environments reuse their buffers."""
        if isinstance(actions, np.ndarray) and isinstance(self._action_space, _ROW_SPACES):
            return actions.copy()
        return [deepcopy(action) for action in iterate(self._action_space, actions)]

    def add(self, actions: Any, phase: Phase) -> None:
        """Takes a step's :meth:`copied` actions, and its frames if they are asked for."""
        self._kept.append(actions)
        if len(self._kept) > self._limit:
            self._trim(phase.stepped)
        now = self._first + len(self._kept)
        for i in places(phase.ended):
            self._stop[i] = now
        if self._frames:
            frames = _Frames(self._env)
            for i in places(phase.stepped):
                self._see(frames, i, final=bool(phase.ended[i]))

    def episodes(self, indices: Sequence[int]) -> list[Episode]:
        """Sub-environments' episodes so far; at the latest in the step that ends them."""
        found = [self.episode(i) for i in indices]
        if not (self._late and found):
            return found
        drawn = cast("Any", self._env).render_frames(self._late, indices)
        return [replace(e, frames=frames) for e, frames in zip(found, drawn, strict=True)]

    def episode(self, index: int) -> Episode:
        """One sub-environment's episode so far, without frames that are drawn late."""
        start, stop = self._start[index] - self._first, self._stop[index] - self._first
        taken = self._kept[start : stop if self._stop[index] >= 0 else None]
        observation = self._observations[index]
        return Episode(
            task=task_text(observation),
            actions=_own([actions[index] for actions in taken]),
            initial_observation=observation,
            frames=self._samplers[index].spread() if self._frames else None,
        )

    def _trim(self, stepped: np.ndarray) -> None:
        needed = [self._start[i] for i in places(stepped)]
        first = min(needed, default=self._first + len(self._kept))
        del self._kept[: first - self._first]
        self._first = first
        # Twice what is in use: a trim is paid for by as many steps as it looked through.
        self._limit = max(_SHORTEST_TRIM, 2 * len(self._kept))

    def _see_first(self, indices: Sequence[int]) -> None:
        if not self._frames:
            return
        frames = _Frames(self._env)
        for i in indices:
            self._samplers[i] = FrameSampler(self._frames)
            self._see(frames, i)

    def _see(self, frames: "_Frames", index: int, final: bool = False) -> None:
        self._samplers[index].see(lambda: frames[index], final)


def _copied_rows(space: gym.Space[Any], batch: Any, indices: Sequence[int]) -> list[Any]:
    if isinstance(batch, np.ndarray) and isinstance(space, _ROW_SPACES):
        return [batch[i].copy() for i in indices]
    rows = list(iterate(space, batch))
    return [deepcopy(rows[i]) for i in indices]


def _own(rows: list[Any]) -> tuple[Any, ...]:
    """Rows without the batches that they are views of."""
    if rows and isinstance(rows[0], np.ndarray):
        return tuple([np.array(row) for row in rows])
    return tuple(rows)


class _Frames:
    """All sub-environments' frames of one moment, rendered when the first is asked for."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self._env = env
        self._rendered: Sequence[Any] | None = None

    def __getitem__(self, index: int) -> Any:
        if self._rendered is None:
            self._rendered = self._env.render() or ()
        return self._rendered[index]
