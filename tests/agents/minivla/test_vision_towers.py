"""The towers against transformers' own implementations of the same networks."""

from typing import Any

import pytest
import torch
from transformers import (
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersModel,
    SiglipVisionConfig,
    SiglipVisionModel,
)

from wmrl_envs.agents.policies.vla.minivla.architecture import PUBLISHED, Architecture, Tower
from wmrl_envs.agents.policies.vla.minivla.vision import VisionTower

pytestmark = pytest.mark.model

DINO = Tower(
    width=16,
    depth=3,
    heads=2,
    hidden=64,
    image_size=42,
    registers=4,
    class_token=True,
    layer_scale=True,
)
SIGLIP = Tower(width=16, depth=3, heads=4, hidden=28, image_size=42, attention_pool=True)


def random_tower(tower: Tower) -> VisionTower:
    torch.manual_seed(0)
    module = VisionTower(tower)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.3)
    return module


def renamed(state: dict[str, torch.Tensor], names: dict[str, str]) -> dict[str, torch.Tensor]:
    """Splits fused projections and renames timm's keys to those of transformers."""
    result = {}
    for key, value in state.items():
        parts = value.chunk(3) if ".attn.qkv." in key else [value]
        for letter, part in zip(("query", "key", "value"), parts, strict=False):
            name = key.replace(".attn.qkv.", f".attn.{letter}.")
            for old, new in names.items():
                name = name.replace(old, new)
            result[name] = part
    return result


def loaded(kind: Any, config: Any, state: dict[str, torch.Tensor]) -> Any:
    """Loads weights by the names of published checkpoints, which outlive those of the modules."""
    model, report = kind.from_pretrained(
        None, config=config, state_dict=state, output_loading_info=True
    )
    assert not any(report.values()), report
    return model.eval()


@torch.no_grad()
def test_the_dino_tower_equals_transformers_dinov2_with_registers() -> None:
    tower = random_tower(DINO)
    config = Dinov2WithRegistersConfig(
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        mlp_ratio=4,
        image_size=42,
        patch_size=14,
        num_register_tokens=4,
    )
    state = renamed(
        dict(tower.state_dict()),
        {
            "blocks.": "encoder.layer.",
            ".attn.proj.": ".attention.output.dense.",
            ".attn.": ".attention.attention.",
            ".ls1.gamma": ".layer_scale1.lambda1",
            ".ls2.gamma": ".layer_scale2.lambda1",
            "patch_embed.proj": "embeddings.patch_embeddings.projection",
            "cls_token": "embeddings.cls_token",
            "reg_token": "embeddings.register_tokens",
            "pos_embed": "embeddings.position_embeddings",
        },
    )
    state = {("layernorm" + k[4:] if k.startswith("norm.") else k): v for k, v in state.items()}
    # In transformers the class token has a place of its own; in timm's model it has none.
    places = state["embeddings.position_embeddings"]
    state["embeddings.position_embeddings"] = torch.cat([torch.zeros(1, 1, 16), places], dim=1)
    state["embeddings.mask_token"] = torch.zeros(1, 16)
    reference = loaded(Dinov2WithRegistersModel, config, state)
    pixels = torch.randn(2, 3, 42, 42)
    seen = reference(pixels, output_hidden_states=True).hidden_states[-2][:, 5:]
    torch.testing.assert_close(tower(pixels), seen)


@torch.no_grad()
def test_the_siglip_tower_equals_transformers_siglip() -> None:
    tower = random_tower(SIGLIP)
    config = SiglipVisionConfig(
        hidden_size=16,
        intermediate_size=28,
        num_hidden_layers=3,
        num_attention_heads=4,
        image_size=42,
        patch_size=14,
        hidden_act="gelu",
        vision_use_head=False,
    )
    state = renamed(
        {k: v for k, v in tower.state_dict().items() if not k.startswith("attn_pool")},
        {
            "blocks.": "encoder.layers.",
            ".attn.proj.": ".self_attn.out_proj.",
            ".attn.query.": ".self_attn.q_proj.",
            ".attn.key.": ".self_attn.k_proj.",
            ".attn.value.": ".self_attn.v_proj.",
            ".norm1.": ".layer_norm1.",
            ".norm2.": ".layer_norm2.",
            "patch_embed.proj": "embeddings.patch_embedding",
        },
    )
    state = {
        ("post_layernorm" + k[4:] if k.startswith("norm.") else k): v for k, v in state.items()
    }
    state["embeddings.position_embedding.weight"] = state.pop("pos_embed")[0]
    state = {f"vision_model.{key}": value for key, value in state.items()}
    reference = loaded(SiglipVisionModel, config, state)
    pixels = torch.randn(2, 3, 42, 42)
    seen = reference(pixels, output_hidden_states=True).hidden_states[-2]
    torch.testing.assert_close(tower(pixels), seen)


def test_the_published_towers_see_256_patches_each() -> None:
    assert (PUBLISHED.dino.patches, PUBLISHED.siglip.patches) == (256, 256)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depth": 1}, "depth must be >= 2, got 1"),
        ({"heads": 3}, "heads must divide width=16, got 3"),
        ({"image_size": 40}, "multiple of patch_size=14, got 40"),
    ],
)
def test_impossible_towers_are_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tower(**{"width": 16, "depth": 2, "heads": 2, "hidden": 32, **change})


def test_towers_of_unequal_patch_counts_are_refused() -> None:
    other = Tower(width=8, depth=2, heads=2, hidden=8, image_size=28)
    with pytest.raises(ValueError, match=r"equally many patches, got 9 \(dino\) and 4 \(siglip\)"):
        Architecture(DINO, other)
