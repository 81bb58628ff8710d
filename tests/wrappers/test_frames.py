"""Frames spread over episodes of unknown length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.frames import FrameSampler


def sampled(frames: int, length: int) -> tuple[list[int], int]:
    """The steps that were kept of an episode, and how many frames were rendered."""
    sampler, rendered = FrameSampler(frames), []

    def render(step: int) -> np.ndarray:
        rendered.append(step)
        return np.full((1, 1, 3), step % 256, np.uint8)

    for step in range(length):
        sampler.see(lambda step=step: render(step), final=step == length - 1)
    spread = sampler.spread()
    kept = [] if spread is None else spread[:, 0, 0, 0].astype(int).tolist()
    return kept, len(rendered)


@given(st.integers(2, 16), st.integers(1, 255))
def test_frames_are_evenly_spaced_and_hold_first_and_last(frames: int, length: int) -> None:
    kept, _ = sampled(frames, length)
    assert len(kept) == min(frames, length)
    assert (kept[0], kept[-1]) == (0, length - 1)
    even = np.linspace(0, length - 1, len(kept))
    assert np.abs(kept - even).max() <= 0.5 + 0.55 * length / frames


def test_a_single_frame_is_the_last() -> None:
    assert sampled(1, 77)[0] == [76]


@given(st.integers(1, 16), st.integers(1, 5000))
def test_few_frames_are_rendered_however_long_the_episode(frames: int, length: int) -> None:
    _, rendered = sampled(frames, length)
    doublings = max(0.0, np.log2(length / frames))
    assert rendered <= 2 * frames + frames * (doublings + 1) + 1


def test_no_frames_means_no_rendering() -> None:
    assert sampled(0, 50) == ([], 0)


@pytest.mark.parametrize(
    "frame", [None, np.zeros((2, 2), np.uint8), np.zeros((2, 2, 3)), np.zeros((2, 2, 4), np.uint8)]
)
def test_a_frame_of_another_kind_is_refused(frame: object) -> None:
    with pytest.raises(ValueError, match="frames need render_mode"):
        FrameSampler(2).see(lambda: frame)
