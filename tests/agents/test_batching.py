"""Chunks by token budget, duplicates, even deals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.agents.batching import merge_duplicates, split_evenly, token_chunks

tokens = st.lists(st.integers(0, 2), min_size=1, max_size=12)


@given(st.lists(st.tuples(tokens, tokens), max_size=30), st.integers(1, 80))
def test_chunks_hold_each_row_once_and_keep_the_budget(
    rows: list[tuple[list[int], list[int]]], budget: int
) -> None:
    prompts, responses = [p for p, _ in rows], [r for _, r in rows]
    chunks = token_chunks(prompts, responses, budget)
    assert sorted(row for chunk in chunks for row in chunk) == list(range(len(rows)))
    for chunk in chunks:
        unique = {tuple(prompts[i]) for i in chunk}
        padded = len(unique) * max(map(len, unique))
        padded += len(chunk) * max(len(responses[i]) for i in chunk)
        assert padded <= budget or len(chunk) == 1


def test_rows_of_one_long_prompt_stay_together() -> None:
    prompts = [[i % 2] * 50 for i in range(8)]
    responses = [[0] * (i + 1) for i in range(8)]
    chunks = token_chunks(prompts, responses, budget=90)
    assert sorted(map(sorted, chunks)) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_duplicates_are_counted_at_their_first_row() -> None:
    assert merge_duplicates(["a", "b", "a", "a"]) == ([0, 1], [3, 1])


@pytest.mark.parametrize(("count", "parts", "sizes"), [(7, 3, [3, 2, 2]), (2, 5, [1, 1])])
def test_a_deal_leaves_no_part_empty(count: int, parts: int, sizes: list[int]) -> None:
    dealt = split_evenly(range(count), parts)
    assert [len(part) for part in dealt] == sizes
    assert sorted(row for part in dealt for row in part) == list(range(count))
