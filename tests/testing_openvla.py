"""A model of OpenVLA's build with code of its own, written to a folder as the Hub holds it."""

import json
from pathlib import Path
from typing import Any

import torch
from testing_minivla import STATISTICS, byte_tokenizer
from transformers import AutoConfig
from transformers.dynamic_module_utils import get_class_from_dynamic_module

__all__ = ["write_openvla"]

_CONFIGURATION = """
from transformers import LlamaConfig, PretrainedConfig


class TinyOpenVLAConfig(PretrainedConfig):
    model_type = "openvla"
    sub_configs = {"text_config": LlamaConfig}

    def __init__(self, text_config=None, norm_stats=None, image_sizes=(28,), n_action_bins=256,
                 pad_to_multiple_of=64, **kwargs):
        self.text_config = LlamaConfig(**(text_config or {}))
        self.norm_stats, self.image_sizes = norm_stats, list(image_sizes)
        self.n_action_bins, self.pad_to_multiple_of = n_action_bins, pad_to_multiple_of
        super().__init__(**kwargs)
"""

_MODELING = '''
import numpy as np
import torch
from torch import nn
from transformers import LlamaForCausalLM, PreTrainedModel

from .configuration_tiny import TinyOpenVLAConfig


class Eyes(nn.Module):
    def __init__(self):
        super().__init__()
        self.featurizer = nn.Conv2d(6, 10, kernel_size=14, stride=14)

    def forward(self, pixel_values):
        return self.featurizer(pixel_values).flatten(2).transpose(1, 2)


class TinyOpenVLA(PreTrainedModel):
    config_class = TinyOpenVLAConfig

    def __init__(self, config):
        super().__init__(config)
        self.vision_backbone = Eyes()
        self.projector = nn.Linear(10, config.text_config.hidden_size)
        self.language_model = LlamaForCausalLM(config.text_config)
        self.norm_stats = config.norm_stats
        self.post_init()

    def _init_weights(self, module):
        for parameter in module.parameters(recurse=False):
            parameter.data.normal_(std=0.2)

    @torch.no_grad()
    def predict_action(self, input_ids, pixel_values, unnorm_key, blank):
        """OpenVLA's own way: no cache, one row, greedy."""
        if input_ids[0, -1] != blank:
            input_ids = torch.cat([input_ids, torch.tensor([[blank]])], dim=1)
        patches = self.projector(self.vision_backbone(pixel_values))
        for _ in range(7):
            words = self.language_model.get_input_embeddings()(input_ids)
            row = torch.cat([words[:, :1], patches, words[:, 1:]], dim=1)
            logits = self.language_model(inputs_embeds=row).logits[0, -1]
            # A trained model writes action tokens alone; a random one must be held to them.
            end = self.config.text_config.vocab_size - self.config.pad_to_multiple_of
            best = end - 256 + logits[end - 256 : end].argmax()
            input_ids = torch.cat([input_ids, best.view(1, 1)], dim=1)
        bins = np.linspace(-1, 1, self.config.n_action_bins)
        centers = (bins[:-1] + bins[1:]) / 2
        discretized = end - input_ids[0, -7:].numpy()
        normalized = centers[np.clip(discretized - 1, 0, len(centers) - 1)]
        stats = self.norm_stats[unnorm_key]["action"]
        high, low = np.array(stats["q99"]), np.array(stats["q01"])
        return np.where(stats["mask"], 0.5 * (normalized + 1) * (high - low) + low, normalized)
'''

_PROCESSING = """
import numpy as np
import torch
from transformers import AutoTokenizer


class TinyImages:
    def __call__(self, images, return_tensors=None):
        stacked = torch.from_numpy(np.stack([np.asarray(image) for image in images]))
        share = stacked.permute(0, 3, 1, 2).float() / 255
        return {"pixel_values": torch.cat([share, 2 * share - 1], dim=1)}


class TinyProcessor:
    def __init__(self, tokenizer):
        self.tokenizer, self.image_processor = tokenizer, TinyImages()

    @classmethod
    def register_for_auto_class(cls, auto_class="AutoProcessor"):
        pass

    @classmethod
    def from_pretrained(cls, path, **kwargs):
        return cls(AutoTokenizer.from_pretrained(path, trust_remote_code=True))
"""

_CONFIG: dict[str, Any] = {
    "model_type": "openvla",
    "auto_map": {
        "AutoConfig": "configuration_tiny.TinyOpenVLAConfig",
        "AutoModelForVision2Seq": "modeling_tiny.TinyOpenVLA",
    },
    "text_config": {
        "vocab_size": 640,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
    },
    "norm_stats": STATISTICS,
    "image_sizes": [28],
    "n_action_bins": 256,
    "pad_to_multiple_of": 64,
}


def write_openvla(folder: Path) -> None:
    """Writes configuration, code, tokenizer and, by running the code, random weights."""
    folder.mkdir(parents=True)
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens(["▁"])
    tokenizer.save_pretrained(folder)
    processor = {"auto_map": {"AutoProcessor": "processing_tiny.TinyProcessor"}}
    files = {
        "config.json": json.dumps(_CONFIG),
        "processor_config.json": json.dumps(processor),
        "configuration_tiny.py": _CONFIGURATION,
        "modeling_tiny.py": _MODELING,
        "processing_tiny.py": _PROCESSING,
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    kind = get_class_from_dynamic_module(_CONFIG["auto_map"]["AutoModelForVision2Seq"], folder)
    torch.manual_seed(0)
    kind(config).save_pretrained(folder)
