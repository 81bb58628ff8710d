"""Action tokens are those of OpenVLA, to the number."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from wmrl_envs.agents.policies.vla.action_tokens import ActionTokenizer

TOKENS = ActionTokenizer(vocab_size=32000)
"""Llama's vocabulary, as in OpenVLA."""


@pytest.mark.parametrize(
    ("value", "bin_number"),
    [
        (-1.0, 1),
        (-0.9922, 1),  # edge 2 stands at -1 + 2 / 255 = -0.99216
        (-0.9921, 2),
        (0.0, 128),  # edges 128 and 129 stand at -+ 1 / 255
        (0.0039, 128),
        (0.004, 129),
        (0.9999, 255),
        (1.0, 256),
        (7.5, 256),
        (-7.5, 1),
    ],
)
def test_tokens_equal_hand_computed_ones(value: float, bin_number: int) -> None:
    assert TOKENS.encode(value) == 32000 - bin_number


def test_decoding_gives_the_centres_of_the_bins_and_the_last_bin_is_read_as_its_neighbour() -> None:
    expected = [-254 / 255, 0.0, 254 / 255, 254 / 255]
    np.testing.assert_allclose(TOKENS.decode([31999, 31872, 31745, 31744]), expected, atol=1e-12)


def test_a_token_that_is_no_action_is_read_as_the_nearest_bin() -> None:
    np.testing.assert_allclose(TOKENS.decode([5, 40000]), [254 / 255, -254 / 255])


@given(arrays(np.float64, array_shapes(max_dims=3), elements=st.floats(-1, 1)))
def test_a_round_trip_keeps_the_shape_and_moves_a_value_by_half_a_bin_at_most(
    values: np.ndarray,
) -> None:
    tokens = TOKENS.encode(values)
    assert tokens.shape == values.shape
    assert tokens.dtype == np.int64
    assert np.abs(TOKENS.decode(tokens) - values).max() <= 1 / 255 + 1e-12


def test_columns_count_bins_from_minus_one_and_invert_tokens() -> None:
    np.testing.assert_array_equal(TOKENS.columns(TOKENS.encode([-1.0, 0.0, 1.0])), [0, 127, 255])
    columns = torch.arange(256)
    assert torch.equal(TOKENS.columns(TOKENS.tokens(columns)), columns)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_has_no_token(value: float) -> None:
    with pytest.raises(ValueError, match=f"values must be finite to have a token, got {value}"):
        TOKENS.encode([0.0, value])


@pytest.mark.parametrize("bins", [1, 101])
def test_bins_must_fit_the_vocabulary(bins: int) -> None:
    with pytest.raises(ValueError, match=rf"from 2 to vocab_size \(100\), got {bins}"):
        ActionTokenizer(100, bins)
