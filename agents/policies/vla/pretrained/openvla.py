"""OpenVLA and its kin from the Hugging Face Hub, as a policy's network."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wmrl_envs.agents.policies.vla.action_tokens import ActionTokenizer
from wmrl_envs.agents.policies.vla.base import ModelInput
from wmrl_envs.agents.policies.vla.pretrained.adapters import merged, with_lora
from wmrl_envs.agents.policies.vla.pretrained.decoding import EmbeddedDecoding, embedded
from wmrl_envs.agents.policies.vla.pretrained.hub import downloaded
from wmrl_envs.agents.policies.vla.pretrained.images import prepared
from wmrl_envs.agents.policies.vla.pretrained.remote import load_remote
from wmrl_envs.agents.policies.vla.pretrained.sharing import sharing_copy
from wmrl_envs.agents.policies.vla.pretrained.statistics import (
    chosen_statistics,
    dataset_actions,
    libero_actions,
)

__all__ = ["OpenVLA", "openvla_prompt"]

_PARTS = ("vision_backbone", "projector", "language_model")
_STATISTICS = "dataset_statistics.json"
_COPIED = {".py", ".json", ".jinja", ".model", ".txt"}


def openvla_prompt(instruction: str) -> str:
    r"""Returns the prompt that OpenVLA was trained with.

    Example:
        >>> openvla_prompt("Open the Drawer")
        'In: What action should the robot take to open the drawer?\nOut:'
    """
    return f"In: What action should the robot take to {instruction.lower()}?\nOut:"


class OpenVLA(nn.Module):
    """An OpenVLA (arXiv 2406.09246) in Hugging Face's format, with the code that it brings.

    It sees one picture, turned by 180 degrees as in its training data: make the LIBERO environment
    with ``orientation="rot180"``. Upstream also passes the picture through JPEG and scales it with
    TensorFlow's Lanczos filter; here it is Pillow's. The parts of the model are run directly, with
    a cache over the whole batch, which upstream's ``generate`` cannot do.

    The vision towers do not learn. A deep copy shares all weights that do not learn.

    Args:
        model: The model: ``vision_backbone``, ``projector``, a causal ``language_model``, and a
            configuration with ``text_config.vocab_size`` and ``pad_to_multiple_of``.
        processor: Its processor: ``tokenizer`` and ``image_processor``.
        statistics: Statistics of the training data, by dataset; None: the model's ``norm_stats``.
        unnorm_key: The dataset whose statistics scale the actions; None: the only one.
        image_key: The observation's picture.
        crop: See the middle of the picture only, as models trained with augmentation must.

    Raises:
        TypeError: The model is built otherwise.
        ValueError: ``unnorm_key`` is unknown.

    Example:
        >>> model = OpenVLA.from_pretrained(
        ...     "openvla/openvla-7b-finetuned-libero-10", trust_remote_code=True, crop=True
        ... )  # doctest: +SKIP
        >>> policy = VLAPolicy(model.add_lora(rank=32))  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any,
        processor: Any,
        *,
        statistics: Mapping[str, Any] | None = None,
        unnorm_key: str | None = None,
        image_key: str = "agentview_image",
        crop: bool = False,
    ) -> None:
        super().__init__()
        missing = [part for part in _PARTS if not hasattr(model, part)]
        if missing:
            raise TypeError(f"an OpenVLA has {_PARTS}, {type(model).__name__} lacks {missing}")
        self.model, self.processor = model, processor
        self.model.vision_backbone.requires_grad_(False)
        self.datasets = dict(_norm_stats(model) if statistics is None else statistics)
        self.unnorm_key, self.statistics = chosen_statistics(self.datasets, unnorm_key)
        self.image_key, self.crop = image_key, bool(crop)
        config = model.config
        self.action_tokenizer = ActionTokenizer(
            config.text_config.vocab_size - config.pad_to_multiple_of,
            getattr(config, "n_action_bins", 256),
        )
        self.action_shape: tuple[int, ...] = (self.statistics.size,)
        self.source: Path | None = None

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        *,
        trust_remote_code: bool = False,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
        revision: str | None = None,
        **settings: Any,
    ) -> "OpenVLA":
        """Loads a model from a folder or from the Hugging Face Hub.

        Args:
            source: A folder, or a Hub id such as "openvla/openvla-7b-finetuned-libero-10".
            trust_remote_code: May the code in there run on this machine? It must be True.
            dtype: The weights' type; None: the stored one.
            device: Where the weights go.
            revision: The Hub's branch, tag or commit.
            **settings: Further arguments of this class.

        Raises:
            OSError: It is neither a local folder nor reachable on the Hub.
            ValueError: The code may not run.
        """
        folder = downloaded(source, revision)
        model, processor = load_remote(folder, trust_remote_code=trust_remote_code, dtype=dtype)
        if (folder / _STATISTICS).is_file():
            text = (folder / _STATISTICS).read_text(encoding="utf-8")
            settings.setdefault("statistics", json.loads(text))
        result = cls(model.to(device) if device is not None else model, processor, **settings)
        result.source = folder
        return result

    def save_pretrained(self, path: str | Path) -> None:
        """Writes a folder that transformers can load, LoRA adapters merged into the weights."""
        Path(path).mkdir(parents=True, exist_ok=True)
        adapted = self.model.language_model
        self.model.language_model = merged(adapted)
        try:
            self.model.save_pretrained(path)
        finally:
            self.model.language_model = adapted
        text = json.dumps(self.datasets, indent=2)
        (Path(path) / _STATISTICS).write_text(text + "\n", encoding="utf-8")
        for file in self.source.iterdir() if self.source else ():
            if file.suffix in _COPIED and not (Path(path) / file.name).exists():
                shutil.copy(file, path)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._words().weight.device

    def add_lora(self, **settings: Any) -> "OpenVLA":
        """Freezes the weights and adds LoRA adapters to the language model; returns itself.

        Args:
            **settings: ``rank``, ``alpha`` and ``targets``, see
                :func:`wmrl_envs.agents.policies.vla.pretrained.adapters.with_lora`.
        """
        self.model.language_model = with_lora(self.model.language_model, **settings)
        self.model.projector.requires_grad_(False)
        return self

    def encode(self, observation: Mapping[str, Any]) -> ModelInput:
        """Scales the picture and puts the instruction into the prompt.

        Raises:
            ValueError: Picture or instruction is missing, or the picture has another shape.
        """
        missing = [key for key in (self.image_key, "task") if key not in observation]
        if missing:
            raise ValueError(
                f"observation must hold {self.image_key!r} and 'task', {missing} missing"
            )
        size = self.model.config.image_sizes[0]
        image = prepared(np.asarray(observation[self.image_key]), size, crop=self.crop)
        return ModelInput(self._prompt(str(observation["task"])), {"image": image})

    def start(
        self, prompts: Sequence[tuple[int, ...]], contexts: Sequence[Mapping[str, NDArray[Any]]]
    ) -> EmbeddedDecoding:
        """Passes B prompts and pictures through the network; gradients are kept."""
        from PIL.Image import fromarray

        pictures: list[Any] = [fromarray(context["image"]) for context in contexts]
        pixels = self.processor.image_processor(pictures, return_tensors="pt")["pixel_values"]
        weight = self._words().weight
        seen = self.model.vision_backbone(pixels.to(weight.device, weight.dtype))
        llm = self.model.language_model
        embeddings, mask = embedded(llm, prompts, self.model.projector(seen))
        columns = torch.arange(self.action_tokenizer.bins, device=self.device)
        return EmbeddedDecoding(llm, embeddings, mask, self.action_tokenizer.tokens(columns))

    def to_actions(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Scales decoded values (B, A) to LIBERO's actions, whose gripper closes at 1."""
        return libero_actions(self.statistics.unnormalized(values))

    def from_actions(self, actions: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scales LIBERO's actions (B, A) to values that have tokens: the way back."""
        return self.statistics.normalized(dataset_actions(actions))

    def __deepcopy__(self, memo: dict[int, Any]) -> "OpenVLA":
        """Copies what learns, and shares what does not."""
        twin: OpenVLA = sharing_copy(self, memo, self.processor)
        return twin

    def _words(self) -> Any:
        return self.model.language_model.get_input_embeddings()

    def _prompt(self, instruction: str) -> tuple[int, ...]:
        tokenizer = self.processor.tokenizer
        ids = list(tokenizer(openvla_prompt(instruction))["input_ids"])
        # In training a lone blank stood between the colon and the first action token.
        blank = tokenizer.get_vocab().get("▁")
        return tuple(ids if blank is None or ids[-1] == blank else [*ids, blank])


def _norm_stats(model: Any) -> Mapping[str, Any]:
    found = getattr(model, "norm_stats", None) or getattr(model.config, "norm_stats", None)
    if not found:
        raise ValueError("statistics must be given: the model has no norm_stats")
    statistics: Mapping[str, Any] = found
    return statistics
