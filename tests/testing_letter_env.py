"""A tiny world that rewards a policy for writing the task's letter, and a wrapper with state."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from testing_letters import LETTERS

from wmrl_envs.spaces import UnicodeText

__all__ = ["GrowingReward", "LetterEnv", "letters", "no_stack"]


class LetterEnv(VectorEnv):
    """Rewards the share of the task's letter among eight; finished rows freeze until the reset.

    Args:
        num_envs: N.
        turns: Turns of an episode by its reset seed.
        final_info: Info of an episode's last step, by its reset seed and its row.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.DISABLED}

    def __init__(
        self,
        num_envs: int,
        turns: Callable[[int], int] = lambda seed: 1,
        final_info: Callable[[int, int], dict[str, Any]] = lambda seed, row: {},
    ) -> None:
        self.num_envs = num_envs
        self.single_observation_space = spaces.Dict(task=UnicodeText(9), feedback=UnicodeText(99))
        self.single_action_space = UnicodeText(99)
        self.turns, self.final_info = turns, final_info
        self.seeds_seen: list[list[int]] = []
        self.calls_after_end = 0

    def reset(
        self, *, seed: Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        assert seed is not None
        self.seeds = list(seed)
        self.seeds_seen.append(self.seeds)
        self.turn = [0] * self.num_envs
        self.done = np.zeros(self.num_envs, dtype=bool)
        self.feedback = [""] * self.num_envs
        return self._observations(), {}

    def step(self, actions: Sequence[str]) -> tuple[Any, ...]:
        rewards, infos = np.zeros(self.num_envs), {}
        for i, action in enumerate(actions):
            if self.done[i]:
                self.calls_after_end += 1
                continue
            self.turn[i] += 1
            self.feedback[i] = action
            if self.turn[i] == self.turns(self.seeds[i]):
                self.done[i] = True
                rewards[i] = action.count(self.letter(self.seeds[i])) / 8
                infos = self._add_info(infos, self.final_info(self.seeds[i], i), i)
        return self._observations(), rewards, self.done.copy(), np.zeros_like(self.done), infos

    @staticmethod
    def letter(seed: int) -> str:
        return LETTERS[seed % 4]

    def _observations(self) -> dict[str, Any]:
        tasks = tuple(f"{self.letter(seed)}>" for seed in self.seeds)
        return {"task": tasks, "feedback": tuple(self.feedback)}


class GrowingReward(VectorWrapper):
    """Multiplies rewards by a factor that grows with each step: a wrapper with state."""

    def __init__(self, env: VectorEnv) -> None:
        super().__init__(env)
        self.factor = np.ones(1)

    def step(self, actions: Any) -> tuple[Any, ...]:
        observations, rewards, ended, cut, infos = self.env.step(actions)
        self.factor = self.factor * 1.03
        return observations, rewards * self.factor, ended, cut, infos

    def state_dict(self) -> dict[str, Any]:
        return {"factor": self.factor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.factor = np.asarray(state["factor"])


def letters(env_id: str, num_envs: int) -> LetterEnv:
    """A stack, as a command line names it."""
    return LetterEnv(num_envs)


def no_stack(env_id: str, num_envs: int) -> str:
    """What a command line names by mistake."""
    return env_id
