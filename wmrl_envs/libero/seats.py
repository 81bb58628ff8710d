"""Several episodes in one environment: before each step it goes back to the episode's moment."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero.env import EpisodeSnapshot, LiberoEnv
from wmrl_envs.libero.observations import Observation

__all__ = ["Seats", "Transition"]


class Transition(NamedTuple):
    """What a step of one episode gave."""

    observation: Observation
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Seats:
    """Episodes that take turns on one environment's simulators.

    Going back to a snapshot takes a fraction of a millisecond and is exact, so each episode is,
    bit for bit, what it would be in an environment of its own, at a small part of the memory.

    Args:
        arguments: The arguments of :class:`~wmrl_envs.libero.env.LiberoEnv`.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._env = LiberoEnv(**arguments)
        self._moments: dict[int, EpisodeSnapshot] = {}

    def reset(
        self, starts: Mapping[int, tuple[int, dict[str, Any]]]
    ) -> dict[int, tuple[Observation, dict[str, Any]]]:
        """Starts episodes.

        Args:
            starts: (seed, options) by seat.

        Returns:
            (observation, info) by seat.
        """
        found = {}
        for seat, (seed, options) in starts.items():
            found[seat] = self._env.reset(seed=seed, options=options)
            self._moments[seat] = self._env.snapshot()
        return found

    def step(self, actions: Mapping[int, NDArray[Any]]) -> dict[int, Transition]:
        """Takes one action in each of some episodes, those of one task one after the other."""
        found = {}
        for seat in sorted(actions, key=lambda seat: self._moments[seat].start):
            self._env.resume(self._moments[seat])
            found[seat] = Transition(*self._env.step(actions[seat]))
            self._moments[seat] = self._env.snapshot()
        return found

    def render(self, seats: Iterable[int]) -> dict[int, NDArray[np.uint8] | None]:
        """The present picture of some episodes, see ``LiberoEnv.render``."""
        return {seat: self._at(seat).render() for seat in seats}

    def render_frames(self, n: int, seats: Iterable[int]) -> dict[int, NDArray[np.uint8]]:
        """Pictures of moments of some episodes, see ``LiberoEnv.render_frames``."""
        return {seat: self._at(seat).render_frames(n) for seat in seats}

    def close(self) -> None:
        """Frees the simulators."""
        self._env.close()

    def _at(self, seat: int) -> LiberoEnv:
        self._env.resume(self._moments[seat])
        return self._env
