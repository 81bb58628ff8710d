"""A tiny language model, and a tiny world that rewards it for writing the task's letter."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from testing_letters import LETTERS, letter_model, letter_tokenizer
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from wmrl_envs.agents import LanguageModelPolicy
from wmrl_envs.spaces import UnicodeText


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """One thread computes the same bits each time, and leaves the other cores alone."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    """One token a letter, and ">"; everything else is unknown."""
    return letter_tokenizer()


@pytest.fixture(scope="session")
def make_model() -> Callable[..., LlamaForCausalLM]:
    """Builds a language model of some ten thousand parameters."""
    return letter_model


@pytest.fixture(scope="session")
def make_policy(
    make_model: Callable[..., LlamaForCausalLM], tokenizer: PreTrainedTokenizerFast
) -> Callable[..., LanguageModelPolicy]:
    """Builds a policy on a tiny language model."""

    def build(seed: int = 0, **settings: Any) -> LanguageModelPolicy:
        settings = {"max_new_tokens": 8, **settings}
        return LanguageModelPolicy(make_model(seed), tokenizer, **settings)

    return build


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


@pytest.fixture(scope="session")
def letter_env() -> type[LetterEnv]:
    """The class, for tests that build it their own way."""
    return LetterEnv


@pytest.fixture(scope="session")
def growing_reward() -> type[GrowingReward]:
    """The class of the wrapper with state."""
    return GrowingReward
