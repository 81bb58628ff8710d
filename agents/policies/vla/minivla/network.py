"""The network of a MiniVLA: picture and prompt in, scores of the next token out.

The modules are named as in prismatic's checkpoints (arXiv 2402.07865; Stanford-ILIAD/openvla-mini),
so that their state dicts are the checkpoint.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from transformers import Qwen2Config, Qwen2ForCausalLM

from wmrl_envs.agents.policies.vla.minivla.architecture import Architecture
from wmrl_envs.agents.policies.vla.minivla.vision import VisionTower
from wmrl_envs.agents.policies.vla.pretrained.decoding import embedded

__all__ = ["PARTS", "MiniVLANetwork"]

PARTS = ("vision_backbone", "projector", "llm_backbone")
"""The parts of a checkpoint, which are the network's children."""

_DINO_MEAN, _DINO_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_SIGLIP_MEAN = _SIGLIP_STD = (0.5, 0.5, 0.5)


class MiniVLANetwork(nn.Module):
    """Vision towers, projector and language model.

    The patches of the picture stand after the first token of the prompt, as in every prismatic
    model. The vision towers do not learn unless they are thawed (``requires_grad_``), as in
    upstream's stage "vla-train"; no activations of theirs are kept then.

    Args:
        architecture: The shapes.
        vocabulary: Rows of the token embedding.
        tied: Do token embedding and output layer share their weights, as in Qwen2.5-0.5B?

    Example:
        >>> network = MiniVLANetwork(PUBLISHED, vocabulary=151936)  # doctest: +SKIP
        >>> network.embed(images, prompts)  # doctest: +SKIP
    """

    def __init__(self, architecture: Architecture, vocabulary: int, *, tied: bool = True) -> None:
        super().__init__()
        self.architecture = architecture
        self.vision_backbone = _VisionBackbone(architecture)
        self.llm_backbone = _LanguageBackbone(architecture, vocabulary, tied)
        self.projector = _Projector(
            architecture.dino.width + architecture.siglip.width,
            self.llm_backbone.llm.config.hidden_size,
        )
        self.vision_backbone.requires_grad_(False)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.projector.parameters()).device

    @property
    def llm(self) -> Any:
        """The language model of transformers, within its PEFT adapters if it has some."""
        return self.llm_backbone.llm

    def embed(
        self, images: torch.Tensor, prompts: Sequence[Sequence[int]]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeds pictures and prompts as the language model's input, filled up on the left.

        Args:
            images: (B, S, S, 3), uint8, S being the architecture's image size.
            prompts: B prompts of at least one token each.

        Returns:
            (B, L, D) embeddings, and the (B, L) mask, int64, 1 where a row has a token; L is the
            number of patches and the longest prompt's length together.
        """
        patches = self.projector(self.vision_backbone(images.to(self.device)))
        return embedded(self.llm, prompts, patches)


class _VisionBackbone(nn.Module):
    """Both towers, and the normalisation that each was trained with."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.dino_featurizer = VisionTower(architecture.dino)
        self.siglip_featurizer = VisionTower(architecture.siglip)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Returns (B, patches, widths of both towers) of (B, S, S, 3), uint8."""
        weight = self.dino_featurizer.patch_embed.proj.weight
        share = images.permute(0, 3, 1, 2).float() / 255.0
        dino = self.dino_featurizer(_normalised(share, _DINO_MEAN, _DINO_STD, weight.dtype))
        siglip = self.siglip_featurizer(_normalised(share, _SIGLIP_MEAN, _SIGLIP_STD, weight.dtype))
        return torch.cat([dino, siglip], dim=2)


class _Projector(nn.Module):
    """Prismatic's ``FusedMLPProjector``."""

    def __init__(self, seen: int, spoken: int) -> None:
        super().__init__()
        self.projector = nn.Sequential(
            nn.Linear(seen, 4 * seen),
            nn.GELU(),
            nn.Linear(4 * seen, spoken),
            nn.GELU(),
            nn.Linear(spoken, spoken),
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.projector(features)
        return result


class _LanguageBackbone(nn.Module):
    def __init__(self, architecture: Architecture, vocabulary: int, tied: bool) -> None:
        super().__init__()
        config = Qwen2Config(
            **architecture.language, vocab_size=vocabulary, tie_word_embeddings=tied
        )
        # Dropout would make the update's log-probabilities differ from the rollout's.
        self.llm: Any = Qwen2ForCausalLM(config).eval()


def _normalised(
    share: torch.Tensor, mean: tuple[float, ...], std: tuple[float, ...], dtype: torch.dtype
) -> torch.Tensor:
    centre, spread = (
        torch.tensor(values, device=share.device)[:, None, None] for values in (mean, std)
    )
    return ((share - centre) / spread).to(dtype)
