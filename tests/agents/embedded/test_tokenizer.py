"""The tokenizer: byte-level, so that nothing is lost; a token never spans lines or digits."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from wmrl_envs.agents.embedded.pretrain import corpus
from wmrl_envs.agents.embedded.tokenizer import EOS, PAD, SOLUTION, train_tokenizer

PAIRS = corpus(200, seed=1, slips=0.8)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer((prompt + script for prompt, script in PAIRS), vocab_size=600)


def tokens(tokenizer: PreTrainedTokenizerFast, text: str) -> list[str]:
    return [tokenizer.decode([i]) for i in tokenizer(text, add_special_tokens=False).input_ids]


@given(st.text())
def test_any_text_comes_back(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    ids = tokenizer(text, add_special_tokens=False).input_ids
    special = (PAD, EOS, SOLUTION)
    if not any(name in text for name in special):
        assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


def test_scripts_come_back(tokenizer: PreTrainedTokenizerFast) -> None:
    for prompt, script in random.Random(0).sample(PAIRS, 20):
        ids = tokenizer(prompt + script, add_special_tokens=False).input_ids
        assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == prompt + script


def test_the_special_tokens_come_first(tokenizer: PreTrainedTokenizerFast) -> None:
    assert tokenizer.convert_tokens_to_ids([PAD, EOS, SOLUTION]) == [0, 1, 2]
    assert (tokenizer.pad_token, tokenizer.eos_token) == (PAD, EOS)


def test_no_token_goes_on_after_a_line_or_holds_two_digits(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    for prompt, script in PAIRS[:50]:
        for token in tokens(tokenizer, prompt + script):
            assert "\n" not in token[:-1]
            assert not any(c.isdigit() for c in token) or len(token) == 1


def test_a_frequent_line_becomes_one_token(tokenizer: PreTrainedTokenizerFast) -> None:
    assert tokens(tokenizer, 'train = pd.read_csv("train.csv")\n') == [
        'train = pd.read_csv("train.csv")\n'
    ]


def test_a_vocabulary_without_room_for_the_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="vocab_size must be at least 259, got 258"):
        train_tokenizer(["a"], vocab_size=258)
