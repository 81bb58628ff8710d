"""Many LIBERO episodes at once on a few simulators."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from numpy.typing import NDArray

from wmrl_envs.autoresearch.checks import checked_int
from wmrl_envs.libero.crew import Crew
from wmrl_envs.libero.env import LiberoEnv
from wmrl_envs.libero.initial_states import choose_start
from wmrl_envs.libero.observations import Observation
from wmrl_envs.libero.seats import Transition
from wmrl_envs.resets import seed_list

__all__ = ["LiberoVectorEnv"]

_SEEDS = 2**31
_Flags = NDArray[np.bool_]


class LiberoVectorEnv(VectorEnv[dict[str, Any], NDArray[Any], np.ndarray]):
    """Episodes of :class:`~wmrl_envs.libero.env.LiberoEnv` side by side, on a few simulators.

    A simulator takes about a gigabyte, and a GRPO batch has 64 episodes or more. Here each of
    ``workers`` processes holds one simulator a task, and its episodes take turns on it: a switch is
    an exact return to a snapshot, in a fraction of a millisecond. Each episode is, bit for bit,
    that of an environment of its own.

    A finished sub-environment freezes (``AutoresetMode.DISABLED``): it repeats its last
    observation, gives reward 0.0 and no info, and keeps its flags until it is reset, whatever its
    action. ``options["reset_mask"]``, (N,), bool, resets some sub-environments only; other options
    are those of ``LiberoEnv``.

    Args:
        num_envs: The number of sub-environments, N.
        workers: Processes; 0 simulates in this one. They are started with "spawn", so a script
            needs its ``if __name__ == "__main__"``.
        simulators: Tasks whose simulators each process keeps; None: all that it has. With fewer
            than the tasks in play, each step makes simulators anew.
        max_episode_steps: Truncates after so many calls of ``step``; None or -1: no limit besides
            ``horizon``.
        **arguments: As for ``LiberoEnv``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument has an impossible value.

    Example:
        >>> import gymnasium as gym
        >>> envs = gym.make_vec(                                              # doctest: +SKIP
        ...     "wmrl_envs:WMRL/LiberoLong-v0", num_envs=64, task_id=(5, 6), action_chunk=8
        ... )
        >>> observations, infos = envs.reset(seed=[0] * 8 + [1] * 8 + ...)    # doctest: +SKIP
    """

    def __init__(
        self,
        num_envs: int = 1,
        workers: int = 2,
        simulators: int | None = None,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        self.num_envs = checked_int("num_envs", num_envs, least=1)
        if max_episode_steps not in (None, -1):
            checked_int("max_episode_steps", max_episode_steps, least=1)
        self._most_steps = np.inf if max_episode_steps in (None, -1) else max_episode_steps
        template = LiberoEnv(**arguments, simulators=1 if simulators is None else simulators)
        self._template = template
        arguments["simulators"] = simulators or len(template.tasks)
        self.render_mode = template.render_mode
        self.metadata = {**LiberoEnv.metadata, "autoreset_mode": AutoresetMode.DISABLED}
        self.single_observation_space = template.observation_space
        self.single_action_space = template.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._crew = Crew(arguments, min(checked_int("workers", workers, 0), num_envs))
        self._observations: list[Observation | None] = [None] * num_envs
        self._steps = np.zeros(num_envs, np.int64)
        self._terminated = np.zeros(num_envs, np.bool_)
        self._truncated = np.zeros(num_envs, np.bool_)

    @property
    def starts(self) -> tuple[tuple[int, int], ...]:
        """The (task id, initial state) pairs that episodes start from."""
        return tuple(self._template.starts)

    def start_of(self, seed: int) -> tuple[int, int]:
        """The (task id, initial state) that a reset seed starts from."""
        return choose_start(seed, self._template.starts)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts an episode in every sub-environment, or in those of ``options["reset_mask"]``.

        Args:
            seed: One seed a sub-environment, or the first of N consecutive ones, or None.
            options: See the class.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            ResetNeeded: The first reset leaves out a sub-environment.
            TypeError: A seed or an option has the wrong type.
            ValueError: An option, or the number of seeds, is wrong.
            WorkerDied: A simulator's process ended.
        """
        self._refuse_if_closed()
        options = dict(options or {})
        mask = self._checked_mask(options.pop("reset_mask", None))
        seeds = seed_list(seed, self.num_envs)
        drawn = [int(self.np_random.integers(_SEEDS)) if s is None else s for s in seeds]
        work = {i: (drawn[i], options) for i in np.flatnonzero(mask).tolist()}
        infos: dict[str, Any] = {}
        for i, (observation, info) in sorted(self._crew.call("reset", work).items()):
            self._observations[i] = observation
            infos = self._add_info(infos, info, i)
        self._steps[mask] = 0
        self._terminated[mask] = self._truncated[mask] = False
        return self._batched(), infos

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[dict[str, Any], np.ndarray, _Flags, _Flags, dict[str, Any]]:
        """Takes one action, or one chunk, in every running sub-environment.

        Args:
            actions: (N, 7) or (N, action_chunk, 7); those of finished sub-environments are ignored.

        Returns:
            Batched observations, rewards (N,), terminations (N,), truncations (N,), and infos.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            ResetNeeded: There are no episodes.
            ValueError: The actions have the wrong shape, or a value that counts is not finite.
            WorkerDied: A simulator's process ended.
        """
        self._refuse_if_closed()
        if any(observation is None for observation in self._observations):
            raise ResetNeeded("there are no episodes: call reset before step")
        live = ~(self._terminated | self._truncated)
        chosen = self._checked(actions, live)
        work = {i: chosen[i] for i in np.flatnonzero(live).tolist()}
        found: dict[int, Transition] = self._crew.call("step", work) if work else {}
        self._steps[live] += 1
        rewards, infos = np.zeros(self.num_envs), dict[str, Any]()
        for i, transition in sorted(found.items()):
            self._observations[i], rewards[i] = transition.observation, transition.reward
            self._terminated[i], self._truncated[i] = transition.terminated, transition.truncated
            infos = self._add_info(infos, transition.info, i)
        self._truncated |= live & ~self._terminated & (self._steps >= self._most_steps)
        return self._batched(), rewards, self._terminated.copy(), self._truncated.copy(), infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Every sub-environment's present picture, (H, W, 3); None without a render mode."""
        if self.render_mode is None or self._observations[0] is None:
            return None
        found = self._crew.call("render", dict.fromkeys(range(self.num_envs)))
        return tuple(found[i] for i in range(self.num_envs))

    def render_frames(
        self, n: int = 8, indices: Sequence[int] | None = None
    ) -> list[NDArray[np.uint8]]:
        """Pictures of moments of episodes so far, see ``LiberoEnv.render_frames``.

        Args:
            n: How many of each episode, evenly spaced, the first and the last moment included.
            indices: The sub-environments; None: all.

        Returns:
            One (n, H, W, 3), uint8, for each of them.

        Raises:
            RenderingUnavailable: There is no OpenGL.
            ValueError: ``n`` is not positive.
        """
        chosen = list(range(self.num_envs)) if indices is None else [int(i) for i in indices]
        found = self._crew.call("render_frames", dict.fromkeys(chosen), n)
        return [found[i] for i in chosen]

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the processes."""
        self._crew.close()

    def _batched(self) -> dict[str, Any]:
        space = self.single_observation_space
        out: Any = create_empty_array(space, self.num_envs, fn=np.zeros)
        batch: Any = concatenate(space, self._observations, out)
        return batch

    def _checked(self, actions: Any, live: _Flags) -> NDArray[np.float32]:
        chosen = np.asarray(actions, dtype=np.float32)
        if chosen.shape != self.action_space.shape:
            raise ValueError(
                f"actions must have the shape {self.action_space.shape}, got {chosen.shape}"
            )
        if not np.isfinite(chosen[live]).all():
            raise ValueError(f"actions must be finite, got {chosen[live].tolist()}")
        return chosen

    def _checked_mask(self, mask: Any) -> _Flags:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] must be an array of bool, got {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must have shape ({self.num_envs},) and hold a True, "
                f"got {mask!r}"
            )
        if any(self._observations[i] is None for i in np.flatnonzero(~mask)):
            raise ResetNeeded("the first reset must reset every sub-environment")
        return mask

    def _refuse_if_closed(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed: make a new one")
