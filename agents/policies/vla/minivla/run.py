"""Run folders as openvla-mini leaves them: what the model is, and what it was trained on."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wmrl_envs.agents.policies.vla.minivla.architecture import PUBLISHED, Architecture
from wmrl_envs.agents.policies.vla.pretrained.hub import downloaded

__all__ = ["Run", "local_run"]

_CONFIG, _STATISTICS = "config.json", "dataset_statistics.json"
_OWN = "wmrl_envs"
_BASE = re.compile(r"prism-qwen25-(extra-)?dinosiglip-224px[+-]0_5b")
_ACTION_TOKENIZERS = ("extra_action_tokenizer", "action_tokenizer")


@dataclass(frozen=True)
class Run:
    """What ``config.json`` and ``dataset_statistics.json`` say.

    Attributes:
        config: The whole of ``config.json``.
        statistics: The statistics of the training data, by dataset.
        architecture: The shapes.
        extra_tokens: How many tokens ``<|extra_i|>`` the tokenizer has got.
        extra_actions: Are the action tokens the last of all tokens, added ones included, or the
            last of the original vocabulary?
        image_aug: Was the model trained with image augmentation?
        settings: Arguments of ``MiniVLA`` that were stored with it.
    """

    config: Mapping[str, Any]
    statistics: Mapping[str, Any]
    architecture: Architecture
    extra_tokens: int
    extra_actions: bool
    image_aug: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, architecture: Architecture | None = None) -> "Run":
        """Reads a run folder.

        Args:
            folder: The run.
            architecture: The shapes; None: the folder's own, or those of the published models.

        Raises:
            FileNotFoundError: A file is missing.
            ValueError: It is a model of a kind that this package does not know.
        """
        config, statistics = (_json(folder / name) for name in (_CONFIG, _STATISTICS))
        vla = config.get("vla")
        if not isinstance(vla, Mapping) or "base_vlm" not in vla:
            raise ValueError(f'{folder / _CONFIG} must hold "vla" with "base_vlm": is it a VLA?')
        _check_inputs(vla)
        shape, extra = _shape(config, architecture)
        kind = vla.get("action_tokenizer", "action_tokenizer")
        _check_action_tokenizer(kind)
        aug = bool(config.get("image_aug", False))
        own = config.get(_OWN, {}).get("settings", {})
        return cls(config, statistics, shape, extra, kind == "extra_action_tokenizer", aug, own)

    def write(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Writes ``config.json`` and ``dataset_statistics.json``.

        Shapes and settings go under a key of this package's own, which upstream overlooks.
        """
        own = {
            "architecture": self.architecture.to_dict(),
            "extra_tokens": self.extra_tokens,
            "settings": dict(settings),
        }
        for name, content in (
            (_CONFIG, {**self.config, _OWN: own}),
            (_STATISTICS, self.statistics),
        ):
            text = json.dumps(content, indent=2)
            (folder / name).write_text(text + "\n", encoding="utf-8")


def local_run(source: str | Path, step: int | None = None, revision: str | None = None) -> Path:
    """Returns the folder of a run, downloaded from the Hugging Face Hub if it is not local.

    Args:
        source: A run folder, or a Hub id such as "Stanford-ILIAD/minivla-libero90-prismatic".
        step: The checkpoint to download; None: all of them.
        revision: The Hub's branch, tag or commit.

    Raises:
        OSError: It is neither a local folder nor reachable on the Hub.
    """
    weights = "checkpoints/step-*.pt" if step is None else f"checkpoints/step-{step:06d}-*.pt"
    return downloaded(source, revision, [_CONFIG, _STATISTICS, weights])


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(f"a run folder must hold {path.name}, {str(path)!r} is missing")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _shape(config: Mapping[str, Any], given: Architecture | None) -> tuple[Architecture, int]:
    base = str(config["vla"]["base_vlm"])
    known = _BASE.search(base)
    extra = 256 if known is None or known[1] else 0
    if _OWN in config:
        own = Architecture.from_dict(config[_OWN]["architecture"])
        return given or own, int(config[_OWN]["extra_tokens"])
    if given is None and known is None:
        raise ValueError(
            f"base_vlm must be prism-qwen25-extra-dinosiglip-224px+0_5b, or architecture given, "
            f"got {base!r}"
        )
    return given or PUBLISHED, extra


def _check_inputs(vla: Mapping[str, Any]) -> None:
    images = vla.get("image_sequence_len", 1)
    if images != 1 or vla.get("use_wrist_image", False):
        raise ValueError(
            "only models that see one picture of one camera are supported, got "
            f"image_sequence_len={images!r}, use_wrist_image={vla.get('use_wrist_image', False)!r}"
        )


def _check_action_tokenizer(kind: str) -> None:
    if kind in _ACTION_TOKENIZERS:
        return
    reason = ""
    if "vq" in kind:
        reason = (
            ": vector-quantised actions need the VQ-VAE of vq_bet_official, which is not part of "
            "this package; take a run that was trained with extra_action_tokenizer"
        )
    raise ValueError(f"action_tokenizer must be among {_ACTION_TOKENIZERS}, got {kind!r}{reason}")
