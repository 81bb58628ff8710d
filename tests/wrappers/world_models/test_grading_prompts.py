"""The parts of a grader's prompt: scale, examples, cuts, and the tokens of a grade."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from wmrl_envs.wrappers.world_models import GradeScale, LoggedEpisode, choose_examples, write_log
from wmrl_envs.wrappers.world_models.cutting import cut_middle, split_room
from wmrl_envs.wrappers.world_models.few_shot import chosen_examples
from wmrl_envs.wrappers.world_models.generation import Generation, JsonEnd
from wmrl_envs.wrappers.world_models.grade_scale import DIGITS
from wmrl_envs.wrappers.world_models.grader_prompts import outcome_prompt
from wmrl_envs.wrappers.world_models.prompt_tokens import label_tokens


@given(st.text(max_size=80), st.integers(20, 60))
def test_a_cut_text_fits_and_keeps_its_ends(text: str, room: int) -> None:
    cut = "".join(cut_middle(text, room, lambda left_out: f"[{left_out}]"))
    assert len(cut) <= room and (cut == text) == (len(text) <= room)
    assert cut[:5] == text[:5] and cut[-2:] == text[-2:]


@given(st.integers(0, 900), st.integers(0, 900), st.integers(2, 600))
def test_shared_room_is_used_and_each_part_gets_half_if_it_needs_it(
    first: int, second: int, room: int
) -> None:
    a, b = split_room(first, second, room)
    assert 0 <= a and 0 <= b and a + b == room
    assert a >= min(first, room // 2) and b >= min(second, room // 2)
    assert first + second > room or (a >= first and b >= second)


def test_the_expected_grade_is_renormalised_and_needs_two_grades_and_some_mass() -> None:
    assert DIGITS.expected({"9": 0.1, "0": 0.1}) == pytest.approx(0.5)
    assert DIGITS.expected({"9": 0.1, "The": 0.9}) is None
    assert DIGITS.expected({"9": 0.001, "0": 0.001}, min_mass=0.01) is None
    assert DIGITS.expected({"9": 0.0, "0": 0.0}) is None
    assert DIGITS.nearest(0.52) == "5" and DIGITS.reward(" 9\n") == 1.0


@pytest.mark.parametrize(
    ("labels", "rewards"),
    [
        (("1",), (0.0,)),
        (("1", "2"), (0.0,)),
        (("1", "1 "), (0.0, 1.0)),
        (("1", ""), (0.0, 1.0)),
        (("1", "2"), (1.0, 0.0)),
        (("1", "2"), (0.0, float("inf"))),
    ],
)
def test_scales_that_cannot_be_graded_on_are_refused(
    labels: tuple[str, ...], rewards: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match="must"):
        GradeScale(labels, rewards, ("",) * len(labels))


def test_examples_are_spread_over_the_rewards_and_hold_code_that_compiles(tmp_path: Any) -> None:
    log = [LoggedEpisode("", (f"x = {i}",), i / 20) for i in range(21)]
    log += [LoggedEpisode("", ("x = = 1",), 0.5), LoggedEpisode("", ("x = 1", "y = 1"), 0.5)]
    assert [e.reward for e in choose_examples(log, 5)] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert len(choose_examples(log, 99)) == 21 and choose_examples(log, 0) == []
    write_log(tmp_path / "log.jsonl", log)
    assert chosen_examples(tmp_path / "log.jsonl", 3) == choose_examples(log, 3)
    assert chosen_examples(log, None) is log


def test_examples_of_outcomes_show_their_status_and_the_bucket_of_their_reward() -> None:
    valid = LoggedEpisode("t", ("x = 1",), 0.75, "valid")
    opening = outcome_prompt(1, [valid]).opening
    assert '"status": "valid"' in opening and '"quality": "mid"' in opening
    with pytest.raises(ValueError, match="examples must have a grade's status, got ''"):
        outcome_prompt(1, [LoggedEpisode("t", ("x = 1",), 0.75)])
    with pytest.raises(ValueError, match="examples must hold code that compiles"):
        outcome_prompt(1, [LoggedEpisode("t", ("x = = 1",), 0.0, "syntax_error")])


def with_blank_tokens() -> PreTrainedTokenizerFast:
    """A tokenizer whose words hold the blank before them, as GPT-2's do."""
    words = ["<unk>", "Grade:", "\u0120", *(f"\u0120{d}" for d in range(8)), "7"]
    inner = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = pre_tokenizers.Split(" ", "merged_with_next")
    inner.pre_tokenizer = pre_tokenizers.Sequence([split, inner.pre_tokenizer])
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>")


def test_the_blank_before_a_grade_belongs_to_whichever_token_the_tokenizer_gives_it_to(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    cue, found = label_tokens(with_blank_tokens(), "Grade: ", DIGITS.labels)
    assert cue == (1,) and found == {str(d): 3 + d for d in range(8)}
    cue, found = label_tokens(tokenizer, "Grade: ", DIGITS.labels)
    assert tokenizer.decode(list(cue)) == "Grade: " and len(set(found.values())) == 10


class Letters:
    """One token a letter."""

    @staticmethod
    def batch_decode(ids: list[list[int]]) -> list[str]:
        return ["".join(map(chr, row)) for row in ids]


@pytest.mark.parametrize(
    ("until", "after"),
    [
        ('{"a": 1}', " more"),
        ('so: {"a": {"b": "}"}}', "}"),
        (r'{"a": "\"}"}', "{}"),
        ('} "{"}"}', ""),
    ],
)
def test_generation_ends_with_the_bracket_that_closes_the_first_object(
    until: str, after: str
) -> None:
    stop = JsonEnd(Letters, rows=1)
    ended = [bool(stop(torch.tensor([[ord(c)]]), None)[0]) for c in until + after]
    assert ended == [False] * (len(until) - 1) + [True] * (1 + len(after))


@pytest.mark.parametrize(
    "settings",
    [
        {"max_new_tokens": 0},
        {"min_new_tokens": 9, "max_new_tokens": 8},
        {"temperature": -1.0},
        {"top_p": 0.0},
    ],
)
def test_generation_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="got"):
        Generation(**settings)


def test_a_tokenizer_that_knows_no_grade_is_refused() -> None:
    words = Tokenizer(models.WordLevel({"<unk>": 0, "Grade:": 1}, unk_token="<unk>"))
    blind = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>")
    with pytest.raises(ValueError, match=r"these are: \(\)"):
        label_tokens(blind, "Grade: ", DIGITS.labels)
