"""The parts of :class:`~wmrl_envs.agents.policies.vla.tiny.TinyVLA` that make its tokens."""

import zlib
from itertools import pairwise

import torch
from torch import nn

from wmrl_envs.agents.policies.vla.action_tokens import ActionTokenizer

__all__ = ["ActionEmbedding", "ImageTokens", "word_tokens"]

_OCTAVES = 5


def word_tokens(instruction: str, count: int, vocabulary: int) -> tuple[int, ...]:
    """Hashes the words of an instruction into ``count`` tokens, 0 after its end.

    Args:
        instruction: Any text; case and the words beyond ``count`` are ignored.
        count: The number of tokens.
        vocabulary: Tokens are from 0 to ``vocabulary - 1``.

    Example:
        >>> word_tokens("Open the drawer", 4, 512) == word_tokens("open THE drawer", 4, 512)
        True
    """
    words = instruction.lower().split()[:count]
    hashed = [1 + zlib.crc32(word.encode()) % (vocabulary - 1) for word in words]
    return tuple(hashed + [0] * (count - len(hashed)))


class ImageTokens(nn.Module):
    """A picture as a grid of tokens, one for 16 by 16 pixels.

    Args:
        size: The side of a picture, pixels.
        width: Of a token.
    """

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        channels = (3, 32, 64, 96, width)
        layers: list[nn.Module] = []
        for fan_in, fan_out in pairwise(channels):
            layers += [nn.Conv2d(fan_in, fan_out, 3, stride=2, padding=1)]
            layers += [nn.GroupNorm(1, fan_out), nn.GELU()]
        self.layers = nn.Sequential(*layers)
        self.places = nn.Parameter(torch.randn((size // 16) ** 2, width) * 0.02)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(B, size, size, 3), uint8, to (B, tokens, width)."""
        scaled = images.permute(0, 3, 1, 2).float() / 127.5 - 1.0
        tokens: torch.Tensor = self.layers(scaled).flatten(2).transpose(1, 2) + self.places
        return tokens


class ActionEmbedding(nn.Module):
    """Embeds action tokens by the value that they stand for, so that near values are alike.

    Args:
        tokenizer: The tokens' arithmetic.
        width: Of an embedding.
    """

    waves: torch.Tensor

    def __init__(self, tokenizer: ActionTokenizer, width: int) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        values = tokenizer.decode(tokenizer.tokens(range(tokenizer.bins)))
        values = torch.from_numpy(values)[:, None]
        angles = values * torch.pi * 2.0 ** torch.arange(_OCTAVES) / 2
        waves = torch.cat([values, angles.sin(), angles.cos()], dim=1).float()
        self.register_buffer("waves", waves, persistent=False)
        self.project = nn.Linear(waves.shape[1], width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """(B, T) tokens to (B, T, width)."""
        columns = self._tokenizer.columns(tokens)
        embedded: torch.Tensor = self.project(self.waves[columns])
        return embedded
