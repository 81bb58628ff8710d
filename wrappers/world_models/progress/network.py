"""A small network: what has changed since the first frame, read under the instruction."""

import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

__all__ = ["ProgressNetwork", "frame_pairs", "word_ids"]

_BUCKETS = 1024
_CHANNELS = (24, 48, 64, 96)
_TEXT = 48
_HIDDEN = 128


class ProgressNetwork(nn.Module):
    """Convolutions over (first frame, frame), modulated by the instruction (FiLM).

    The first frame shows where everything stood, so that progress is a matter of comparison; the
    instruction, a bag of hashed words, says which changes count.

    Args:
        image_size: Side of the square frames, in pixels, a multiple of 16.
    """

    def __init__(self, image_size: int) -> None:
        super().__init__()
        if image_size < 16 or image_size % 16:
            raise ValueError(f"image_size must be a multiple of 16, got {image_size!r}")
        self.text = nn.EmbeddingBag(_BUCKETS, _TEXT, mode="mean")
        sizes = (6, *_CHANNELS)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in pairwise(sizes)
        )
        self.norms = nn.ModuleList(nn.GroupNorm(8, channels) for channels in _CHANNELS)
        self.films = nn.ModuleList(nn.Linear(_TEXT, 2 * channels) for channels in _CHANNELS)
        cells = (image_size // 16) ** 2
        self.head = nn.Sequential(
            nn.Linear(_CHANNELS[-1] * cells + _TEXT, _HIDDEN), nn.GELU(), nn.Linear(_HIDDEN, 1)
        )

    def forward(self, pairs: Tensor, words: Sequence[Tensor]) -> Tensor:
        """Logits of the progress.

        Args:
            pairs: (B, 6, image_size, image_size) float in [-1, 1]; see :func:`frame_pairs`.
            words: B vectors of word ids; see :func:`word_ids`.

        Returns:
            (B,) float.
        """
        offsets = torch.tensor([0, *map(len, words[:-1])]).cumsum(0)
        text = self.text(torch.cat(list(words)), offsets)
        hidden = pairs
        for convolve, norm, film in zip(self.convolutions, self.norms, self.films, strict=True):
            scale, shift = film(text)[:, :, None, None].chunk(2, dim=1)
            hidden = nn.functional.gelu(norm(convolve(hidden)) * (1.0 + scale) + shift)
        return self.head(torch.cat([hidden.flatten(1), text], dim=1)).squeeze(1)


def frame_pairs(frames: np.ndarray, image_size: int) -> Tensor:
    """Each frame beside the first one of its episode.

    Args:
        frames: (n, H, W, 3) uint8, one episode.
        image_size: Side to which frames are scaled.

    Returns:
        (n, 6, image_size, image_size) float32 in [-1, 1].
    """
    pixels = torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2).float()
    scaled = interpolate(pixels, size=(image_size, image_size), mode="area") / 127.5 - 1.0
    return torch.cat([scaled[:1].expand_as(scaled), scaled], dim=1)


def word_ids(text: str) -> Tensor:
    """Hashed lower-case words, the same in every process; an empty text has one word."""
    words = text.lower().split() or [""]
    return torch.tensor([zlib.crc32(word.encode()) % _BUCKETS for word in words])
