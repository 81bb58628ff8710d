"""Task cards: what the embedded policy is shown of a task."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.agents.embedded.cards import prompt_of, random_card
from wmrl_envs.agents.embedded.pretrain import PretrainConfig, corpus
from wmrl_envs.autoresearch import catalog

PROMPT = re.compile(
    r"(tabular|text|image) (binary|multiclass|regression|other) \w+\n"
    r"rows \d+ num \d+ cat \d+ missing (yes|no) scale (even|mixed)\n"
    r"outputs \d+ kind (label|probability|value)\n"
)


@pytest.mark.parametrize("name", catalog.names())
def test_the_prompt_of_a_bundled_task_is_its_card_without_column_names(name: str) -> None:
    card = catalog.load(name).card()
    prompt = prompt_of(card)
    assert PROMPT.fullmatch(prompt)
    assert card.startswith(prompt[:-1] + " names ")


@given(st.integers())
def test_a_random_card_reads_as_the_card_of_a_task(seed: int) -> None:
    text = random_card(random.Random(seed)).text
    assert PROMPT.fullmatch(text)
    assert prompt_of(text[:-1] + " names target\n") == text


@given(st.integers())
def test_a_random_card_does_not_contradict_itself(seed: int) -> None:
    card = random_card(random.Random(seed))
    assert (card.num == 0) == (card.modality == "text")
    assert card.modality != "text" or card.cat == 1
    assert card.modality == "tabular" or not (card.missing or card.mixed_scale)
    assert card.is_regression == (card.kind == "value")
    assert card.outputs == 1 or card.metric in ("mlogloss", "map3", "mcrmse")


def test_equal_seeds_draw_equal_cards() -> None:
    first, second = random.Random(7), random.Random(7)
    assert [random_card(first) for _ in range(9)] == [random_card(second) for _ in range(9)]


@pytest.mark.parametrize(
    "text",
    ["", "one line\n", "a\nrows 3\nnames x\n", "a\nb\noutputs 1\n", "a\nrows 1\noutputs 1\nmore\n"],
)
def test_a_text_that_is_no_card_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        prompt_of(text)


def test_an_overview_is_no_card() -> None:
    with pytest.raises(ValueError, match="three lines"):
        prompt_of(catalog.load("titanic").overview())


@pytest.mark.slow
def test_the_shipped_policy_was_pretrained_on_no_card_of_a_bundled_task(tmp_path: Path) -> None:
    config = PretrainConfig(out=tmp_path)
    seen = {prompt for prompt, _ in corpus(config.scripts, config.seed, config.slips)}
    assert seen.isdisjoint(prompt_of(catalog.load(name).card()) for name in catalog.names())
