"""A tiny language model, and a tiny world that rewards it for writing the task's letter."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from testing_letter_env import GrowingReward, LetterEnv
from testing_letters import letter_model, letter_tokenizer
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from wmrl_envs.agents import LanguageModelPolicy


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


@pytest.fixture(scope="session")
def letter_env() -> type[LetterEnv]:
    """The class, for tests that build it their own way."""
    return LetterEnv


@pytest.fixture(scope="session")
def growing_reward() -> type[GrowingReward]:
    """The class of the wrapper with state."""
    return GrowingReward
