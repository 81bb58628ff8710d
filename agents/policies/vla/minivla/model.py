"""MiniVLA as a policy's network: observations in, scores of action tokens out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wmrl_envs.agents.policies.vla.action_tokens import ActionTokenizer
from wmrl_envs.agents.policies.vla.base import ModelInput
from wmrl_envs.agents.policies.vla.minivla import prompts
from wmrl_envs.agents.policies.vla.minivla.architecture import Architecture
from wmrl_envs.agents.policies.vla.minivla.checkpoint import (
    CheckpointError,
    checkpoint_name,
    find_checkpoint,
    read_network,
    state_of,
)
from wmrl_envs.agents.policies.vla.minivla.network import MiniVLANetwork
from wmrl_envs.agents.policies.vla.minivla.run import Run, local_run
from wmrl_envs.agents.policies.vla.pretrained.adapters import with_lora
from wmrl_envs.agents.policies.vla.pretrained.decoding import EmbeddedDecoding
from wmrl_envs.agents.policies.vla.pretrained.images import prepared
from wmrl_envs.agents.policies.vla.pretrained.sharing import sharing_copy
from wmrl_envs.agents.policies.vla.pretrained.statistics import (
    chosen_statistics,
    dataset_actions,
    libero_actions,
)

__all__ = ["MiniVLA"]

_TOKENIZER_FOLDER, _TOKENIZER = "tokenizer", "Qwen/Qwen2.5-0.5B"


class MiniVLA(nn.Module):
    """Qwen2.5-0.5B that sees through DINOv2 and SigLIP and writes actions (Stanford-ILIAD).

    An OpenVLA (arXiv 2406.09246) of 1.2 billion weights: each of an action's seven values is a
    token of 256 bins. It sees one upright picture (``orientation="upright"`` of the LIBERO
    environment, ideally ``image_size=256``) and the instruction. The vision towers do not learn
    unless they are thawed; a deep copy shares all weights that do not learn with the original, so
    that the frozen reference of a LoRA run costs no memory.

    Args:
        network: The network.
        tokenizer: The tokenizer of Qwen2.5; tokens ``<|extra_i|>`` are added if the run has them.
        run: The run that it comes from.
        unnorm_key: The dataset whose statistics scale the actions; None: the only one.
        image_key: The observation's picture.
        crop: See the middle of the picture only; None: if the run was trained with augmentation.

    Raises:
        ValueError: Tokenizer and token embedding do not fit, or ``unnorm_key`` is unknown.

    Example:
        >>> model = MiniVLA.from_pretrained("runs/minivla-libero90")  # doctest: +SKIP
        >>> model.add_lora(rank=32)  # doctest: +SKIP
        >>> policy = VLAPolicy(model)  # doctest: +SKIP
    """

    def __init__(
        self,
        network: MiniVLANetwork,
        tokenizer: Any,
        run: Run,
        *,
        unnorm_key: str | None = None,
        image_key: str = "agentview_image",
        crop: bool | None = None,
    ) -> None:
        super().__init__()
        self.network, self.run = network, run
        self.tokenizer = prompts.extended(tokenizer, run.extra_tokens)
        _check_vocabulary(self.tokenizer, network)
        self.unnorm_key, self.statistics = chosen_statistics(run.statistics, unnorm_key)
        self.image_key = image_key
        self.crop = run.image_aug if crop is None else bool(crop)
        end = len(self.tokenizer) if run.extra_actions else self.tokenizer.vocab_size
        self.action_tokenizer = ActionTokenizer(end)
        self.action_shape: tuple[int, ...] = (self.statistics.size,)

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        *,
        step: int | None = None,
        tokenizer: Any = None,
        architecture: Architecture | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
        revision: str | None = None,
        **settings: Any,
    ) -> "MiniVLA":
        """Loads a run of openvla-mini from a folder or from the Hugging Face Hub.

        Args:
            source: A run folder (``config.json``, ``dataset_statistics.json``, ``checkpoints/``),
                or a Hub id such as "Stanford-ILIAD/minivla-libero90-prismatic".
            step: The checkpoint's step; None: the last.
            tokenizer: The tokenizer, a folder that holds one, or a Hub id; None: the run's own if
                it has one, else that of Qwen2.5-0.5B.
            architecture: The shapes; None: the run's own, or those of the published models.
            dtype: The weights' type; None: the stored one.
            device: Where the weights go.
            revision: The Hub's branch, tag or commit.
            **settings: Further arguments of this class.

        Raises:
            OSError: Something is neither local nor reachable on the Hub.
            CheckpointError: The checkpoint does not fit; every key that differs is listed.
            ValueError: The run is of a kind that is not supported.
        """
        folder = local_run(source, step, revision)
        run = Run.read(folder, architecture)
        words = _tokenizer(tokenizer, folder)
        network = read_network(find_checkpoint(folder, step), run.architecture)
        network = network.to(device=device, dtype=dtype)
        return cls(network, words, run, **{**run.settings, **settings})

    def save_pretrained(
        self, path: str | Path, *, step: int = 0, epoch: int = 0, loss: float = 0.0
    ) -> Path:
        """Writes a run folder in openvla-mini's layout, with the tokenizer beside it.

        LoRA adapters are merged into the weights.

        Args:
            path: The folder; its other checkpoints stay.
            step: Gradient steps so far, part of the checkpoint's name, as are the next two.
            epoch: Epochs so far.
            loss: The last loss.

        Returns:
            The checkpoint's path.
        """
        file = Path(path) / "checkpoints" / checkpoint_name(step, epoch, loss)
        file.parent.mkdir(parents=True, exist_ok=True)
        settings = {name: getattr(self, name) for name in ("unnorm_key", "image_key", "crop")}
        self.run.write(Path(path), settings)
        self.tokenizer.save_pretrained(Path(path) / _TOKENIZER_FOLDER)
        torch.save({"model": state_of(self.network)}, file)
        return file

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.network.device

    def add_lora(self, **settings: Any) -> "MiniVLA":
        """Freezes the weights and adds LoRA adapters to the language model; returns itself.

        Args:
            **settings: ``rank``, ``alpha`` and ``targets``, see
                :func:`wmrl_envs.agents.policies.vla.pretrained.adapters.with_lora`.
        """
        llm = with_lora(self.network.llm, **settings)
        self.network.projector.requires_grad_(False)
        self.network.vision_backbone.requires_grad_(False)
        self.network.llm_backbone.llm = llm
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "MiniVLA":
        """Copies what learns, and shares what does not."""
        twin: MiniVLA = sharing_copy(self, memo, self.tokenizer)
        return twin

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
        size = self.network.architecture.image_size
        image = prepared(np.asarray(observation[self.image_key]), size, crop=self.crop)
        ids = self.tokenizer(prompts.qwen_prompt(str(observation["task"])))["input_ids"]
        return ModelInput(tuple(ids), {"image": image})

    def start(
        self, prompts: Sequence[tuple[int, ...]], contexts: Sequence[Mapping[str, NDArray[Any]]]
    ) -> EmbeddedDecoding:
        """Passes B prompts and pictures through the network; gradients are kept."""
        images = torch.from_numpy(np.stack([context["image"] for context in contexts]))
        embeddings, mask = self.network.embed(images, prompts)
        columns = torch.arange(self.action_tokenizer.bins, device=self.device)
        tokens = self.action_tokenizer.tokens(columns)
        return EmbeddedDecoding(self.network.llm, embeddings, mask, tokens)

    def to_actions(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Scales decoded values (B, A) to LIBERO's actions, whose gripper closes at 1."""
        return libero_actions(self.statistics.unnormalized(values))

    def from_actions(self, actions: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scales LIBERO's actions (B, A) to values that have tokens: the way back."""
        return self.statistics.normalized(dataset_actions(actions))


def _check_vocabulary(tokenizer: Any, network: MiniVLANetwork) -> None:
    rows = network.llm.get_input_embeddings().num_embeddings
    expected = prompts.embedding_rows(tokenizer)
    if rows != expected:
        raise CheckpointError(
            f"a token embedding for this tokenizer of {len(tokenizer)} tokens has {expected} rows "
            f"(a multiple of {prompts.EMBEDDING_MULTIPLE}), the checkpoint's has {rows}"
        )


def _tokenizer(given: Any, folder: Path) -> Any:
    from transformers import AutoTokenizer

    own = folder / _TOKENIZER_FOLDER
    source = given if given is not None else own if own.is_dir() else _TOKENIZER
    if not isinstance(source, (str, Path)):
        return source
    try:
        return AutoTokenizer.from_pretrained(str(source))
    except OSError as error:
        raise OSError(
            f"cannot load the tokenizer {str(source)!r}: it is neither a local folder nor "
            "reachable on the Hugging Face Hub. Copy the tokenizer files of Qwen2.5-0.5B to this "
            f"machine and pass their folder as tokenizer=... ({error})"
        ) from error
