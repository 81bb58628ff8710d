"""The shapes of a MiniVLA: two vision towers, a projector, a language model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["PUBLISHED", "Architecture", "Tower"]


@dataclass(frozen=True)
class Tower:
    """The shape of one vision transformer, in timm's terms.

    Attributes:
        width: Channels of a token.
        depth: Blocks, at least 2: the features are those of the last block but one.
        heads: Attention heads; they divide the width.
        hidden: Channels inside a block's perceptron.
        image_size: The image's side, pixels; a multiple of the patch size.
        patch_size: A patch's side, pixels.
        registers: Register tokens (arXiv 2309.16588).
        class_token: Is there a class token?
        layer_scale: Are the branches scaled channel by channel (DINOv2)?
        attention_pool: Does the checkpoint hold a pooling head (SigLIP)? It is stored, not used.
    """

    width: int
    depth: int
    heads: int
    hidden: int
    image_size: int = 224
    patch_size: int = 14
    registers: int = 0
    class_token: bool = False
    layer_scale: bool = False
    attention_pool: bool = False

    def __post_init__(self) -> None:
        """Checks what the modules rely on."""
        if self.depth < 2:
            raise ValueError(f"depth must be >= 2, got {self.depth!r}")
        if self.width % self.heads:
            raise ValueError(f"heads must divide width={self.width}, got {self.heads!r}")
        if self.image_size % self.patch_size:
            raise ValueError(
                f"image_size must be a multiple of patch_size={self.patch_size}, "
                f"got {self.image_size!r}"
            )

    @property
    def patches(self) -> int:
        """Patches of an image."""
        return (self.image_size // self.patch_size) ** 2


@dataclass(frozen=True)
class Architecture:
    """The shape of a whole model.

    Attributes:
        dino: The DINOv2 tower.
        siglip: The SigLIP tower; its patches are as many as the other's.
        language: Arguments of transformers' ``Qwen2Config``, but for the vocabulary's size, which
            is that of the checkpoint.
    """

    dino: Tower
    siglip: Tower
    language: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks that the towers' patches can be joined."""
        if self.dino.patches != self.siglip.patches:
            raise ValueError(
                f"both towers must have equally many patches, got {self.dino.patches} (dino) and "
                f"{self.siglip.patches} (siglip)"
            )
        if self.dino.image_size != self.siglip.image_size:
            raise ValueError(
                f"both towers must see one image size, got {self.dino.image_size} (dino) and "
                f"{self.siglip.image_size} (siglip)"
            )

    @property
    def image_size(self) -> int:
        """The side of the image that the towers see, pixels."""
        return self.dino.image_size

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Architecture":
        """Makes an architecture of what :meth:`to_dict` returned."""
        towers = {name: Tower(**values[name]) for name in ("dino", "siglip")}
        return cls(**towers, language=dict(values["language"]))

    def to_dict(self) -> dict[str, Any]:
        """Returns the architecture as plain, JSON-ready values."""
        return asdict(self)


_DINO = Tower(
    width=1024, depth=24, heads=16, hidden=4096, registers=4, class_token=True, layer_scale=True
)
_SIGLIP = Tower(width=1152, depth=27, heads=16, hidden=4304, attention_pool=True)
_QWEN25_05B: dict[str, Any] = {
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
}

PUBLISHED = Architecture(_DINO, _SIGLIP, _QWEN25_05B)
"""``prism-qwen25-*-dinosiglip-224px+0_5b`` of the repository Stanford-ILIAD/openvla-mini: timm's
``vit_large_patch14_reg4_dinov2`` and ``vit_so400m_patch14_siglip_224`` beside Qwen2.5-0.5B.
"""
