"""Vision transformers with timm's parameter names, as prismatic checkpoints hold them.

The pictures that a MiniVLA sees pass through a DINOv2 (arXiv 2304.07193; with registers, arXiv
2309.16588) and a SigLIP transformer (arXiv 2303.15343). Of each it takes the patches of the last
block but one, before any final norm (prismatic VLMs, arXiv 2402.07865). The last block, the final
norm and SigLIP's pooling head stand in the checkpoint all the same, so they stand here, and nothing
passes through them.
"""

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional as F

from wmrl_envs.agents.policies.vla.minivla.architecture import Tower

__all__ = ["VisionTower"]

_EPSILON = 1e-6


class VisionTower(nn.Module):
    """A vision transformer that returns the patch features of its last block but one.

    Args:
        tower: Its shape.

    Example:
        >>> tower = VisionTower(Tower(width=8, depth=2, heads=2, hidden=16, image_size=28))
        >>> tuple(tower(torch.zeros(3, 3, 28, 28)).shape)
        (3, 4, 8)
    """

    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.tower = tower
        self.patch_embed = _Patches(tower)
        self.pos_embed = nn.Parameter(torch.randn(1, tower.patches, tower.width) * 0.02)
        if tower.class_token:
            self.cls_token = nn.Parameter(torch.zeros(1, 1, tower.width))
        if tower.registers:
            self.reg_token = nn.Parameter(torch.zeros(1, tower.registers, tower.width))
        self.blocks = nn.ModuleList(_Block(tower) for _ in range(tower.depth))
        self.norm = nn.LayerNorm(tower.width, eps=_EPSILON)
        if tower.attention_pool:
            self.attn_pool = _AttentionPool(tower)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Returns the features of the patches, row by row of the image.

        Args:
            pixels: (B, 3, S, S), normalised, S being the tower's image size.

        Returns:
            (B, patches, width).
        """
        patches = self.patch_embed(pixels) + self.pos_embed
        prefix = [token.expand(len(pixels), -1, -1) for token in self._prefix()]
        tokens = torch.cat([*prefix, patches], dim=1)
        for block in list(self.blocks)[:-1]:
            tokens = block(tokens)
        return tokens[:, tokens.shape[1] - self.tower.patches :]

    def _prefix(self) -> Iterator[torch.Tensor]:
        if self.tower.class_token:
            yield self.cls_token
        if self.tower.registers:
            yield self.reg_token


class _Patches(nn.Module):
    def __init__(self, tower: Tower) -> None:
        super().__init__()
        size = tower.patch_size
        self.proj = nn.Conv2d(3, tower.width, kernel_size=size, stride=size)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        patches: torch.Tensor = self.proj(pixels)
        return patches.flatten(2).transpose(1, 2)


class _Block(nn.Module):
    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(tower.width, eps=_EPSILON)
        self.attn = _Attention(tower)
        self.ls1 = _LayerScale(tower.width) if tower.layer_scale else nn.Identity()
        self.norm2 = nn.LayerNorm(tower.width, eps=_EPSILON)
        self.mlp = _Perceptron(tower)
        self.ls2 = _LayerScale(tower.width) if tower.layer_scale else nn.Identity()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        tokens = tokens + self.ls1(self.attn(self.norm1(tokens)))
        result: torch.Tensor = tokens + self.ls2(self.mlp(self.norm2(tokens)))
        return result


class _Attention(nn.Module):
    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.heads = tower.heads
        self.qkv = nn.Linear(tower.width, 3 * tower.width)
        self.proj = nn.Linear(tower.width, tower.width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        count, length, width = tokens.shape
        parts = self.qkv(tokens).view(count, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value)
        result: torch.Tensor = self.proj(seen.transpose(1, 2).reshape(count, length, width))
        return result


class _LayerScale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return tokens * self.gamma


class _Perceptron(nn.Module):
    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.fc1 = nn.Linear(tower.width, tower.hidden)
        self.fc2 = nn.Linear(tower.hidden, tower.width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.fc2(F.gelu(self.fc1(tokens)))
        return result


class _AttentionPool(nn.Module):
    """The weights of SigLIP's pooling head, carried along for the checkpoint's sake."""

    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.latent = nn.Parameter(torch.zeros(1, 1, tower.width))
        self.q = nn.Linear(tower.width, tower.width)
        self.kv = nn.Linear(tower.width, 2 * tower.width)
        self.proj = nn.Linear(tower.width, tower.width)
        self.norm = nn.LayerNorm(tower.width, eps=_EPSILON)
        self.mlp = _Perceptron(tower)
