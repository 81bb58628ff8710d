"""A MiniVLA of some ten thousand weights, a byte tokenizer in Qwen's manner, and its run folder."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from wmrl_envs.agents.policies.vla.minivla.architecture import Architecture, Tower
from wmrl_envs.agents.policies.vla.minivla.model import MiniVLA
from wmrl_envs.agents.policies.vla.minivla.network import PARTS, MiniVLANetwork
from wmrl_envs.spaces import UnicodeText

__all__ = [
    "ROWS",
    "SMALL",
    "STATISTICS",
    "PushEnv",
    "byte_tokenizer",
    "push_envs",
    "small_model",
    "small_network",
    "write_run",
]

SMALL = Architecture(
    dino=Tower(
        width=8,
        depth=3,
        heads=2,
        hidden=16,
        image_size=28,
        registers=4,
        class_token=True,
        layer_scale=True,
    ),
    siglip=Tower(width=12, depth=2, heads=3, hidden=20, image_size=28, attention_pool=True),
    language={
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
    },
)
"""Four patches of 14 pixels, sixteen channels."""

ROWS = 576
"""Rows of the token embedding: 259 tokens of the byte tokenizer, 256 more, rounded up to 64s."""

STATISTICS = {
    "libero_90": {
        "action": {
            "q01": [-0.5, -1.0, 0.0, -0.1, -0.2, -0.3, 0.0],
            "q99": [0.5, 1.0, 0.5, 0.1, 0.2, 0.3, 1.0],
            "mask": [True, True, True, True, True, True, False],
        },
        "num_trajectories": 3,
    }
}


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, and Qwen's three marks; the end of a text is the end of its bytes."""
    alphabet = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    words = Tokenizer(models.BPE(alphabet, []))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    names = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    words.add_special_tokens([AddedToken(name, special=True) for name in names])
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<|endoftext|>")


def small_network(seed: int = 0, *, tied: bool = True) -> MiniVLANetwork:
    """Random weights, biases and scales included, that depend on the seed alone."""
    torch.manual_seed(seed)
    network = MiniVLANetwork(SMALL, ROWS, tied=tied)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.2)
    return network


def write_run(folder: Path, network: MiniVLANetwork | None = None, **vla: Any) -> MiniVLANetwork:
    """Writes a run as openvla-mini does, without any file or entry of this package."""
    network = network or small_network()
    state = {part: getattr(network, part).state_dict() for part in PARTS}
    (folder / "checkpoints").mkdir(parents=True)
    torch.save({"model": state}, folder / "checkpoints" / "step-000120-epoch-02-loss=0.5000.pt")
    config = {
        "vla": {
            "base_vlm": "prism-qwen25-extra-dinosiglip-224px+0_5b",
            "action_tokenizer": "extra_action_tokenizer",
            **vla,
        },
        "seed": 7,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "dataset_statistics.json").write_text(json.dumps(STATISTICS))
    return network


def small_model(folder: Path, network: MiniVLANetwork | None = None, **settings: Any) -> MiniVLA:
    """Writes a run and loads it."""
    write_run(folder, network)
    return MiniVLA.from_pretrained(
        folder, tokenizer=byte_tokenizer(), architecture=SMALL, **settings
    )


class PushEnv(gym.Env[dict[str, Any], Any]):
    """Two steps before a coloured wall; the reward is the share of them that went forward."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            task=UnicodeText(99), agentview_image=spaces.Box(0, 255, (32, 32, 3), np.uint8)
        )
        self.action_space = spaces.Box(-1, 1, (7,), np.float32)
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The colour is the seed's."""
        super().reset(seed=seed)
        self._colour = self.np_random.integers(0, 256, 3, dtype=np.uint8)
        self._steps = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Forward is positive."""
        self._steps += 1
        return self._observation(), float(action[0] > 0) / 2, self._steps == 2, False, {}

    def _observation(self) -> dict[str, Any]:
        image = np.broadcast_to(self._colour, (32, 32, 3)).copy()
        return {"task": "push forward", "agentview_image": image}


def push_envs(count: int) -> gym.vector.SyncVectorEnv:
    """``count`` such worlds in one process."""
    return gym.vector.SyncVectorEnv([PushEnv] * count)
