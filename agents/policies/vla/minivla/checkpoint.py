"""Checkpoints as prismatic writes them: one file of three state dicts, every key accounted for."""

import re
from collections.abc import Mapping
from pathlib import Path

import torch

from wmrl_envs.agents.policies.vla.minivla.architecture import Architecture
from wmrl_envs.agents.policies.vla.minivla.network import PARTS, MiniVLANetwork
from wmrl_envs.agents.policies.vla.pretrained.adapters import merged

__all__ = ["CheckpointError", "checkpoint_name", "find_checkpoint", "read_network", "state_of"]

State = dict[str, dict[str, torch.Tensor]]

_NAME = re.compile(r"step-(\d+)-epoch-\d+-loss=.*\.pt")
_EMBEDDING, _HEAD = "llm.model.embed_tokens.weight", "llm.lm_head.weight"


class CheckpointError(ValueError):
    """A checkpoint does not fit the network; the message lists every key that differs."""


def checkpoint_name(step: int, epoch: int, loss: float) -> str:
    """Returns the file name of a checkpoint.

    Example:
        >>> checkpoint_name(150000, 67, 0.0934)
        'step-150000-epoch-67-loss=0.0934.pt'
    """
    return f"step-{step:06d}-epoch-{epoch:02d}-loss={loss:.4f}.pt"


def find_checkpoint(run: Path, step: int | None = None) -> Path:
    """Returns a run's checkpoint: the one of the given step, or the last.

    Raises:
        FileNotFoundError: The run has no such checkpoint.
    """
    paths = {
        int(match[1]): path
        for path in sorted((run / "checkpoints").glob("*.pt"))
        if (match := _NAME.fullmatch(path.name))
    }
    if not paths:
        raise FileNotFoundError(f"no checkpoints/step-*-epoch-*-loss=*.pt in {str(run)!r}")
    if step is not None and step not in paths:
        raise FileNotFoundError(f"step must be one of {sorted(paths)}, got {step!r}")
    return paths[max(paths) if step is None else step]


def read_network(path: Path, architecture: Architecture) -> MiniVLANetwork:
    """Builds the network of a checkpoint; no weight is drawn or copied needlessly.

    Token embedding and output layer share their weights if they are equal in the file.

    Args:
        path: The checkpoint.
        architecture: Its shapes.

    Raises:
        CheckpointError: A key is missing, left over or of another shape.
    """
    state = _read(path)
    language = state["llm_backbone"]
    absent = [name for name in (_EMBEDDING, _HEAD) if name not in language]
    if absent:
        raise CheckpointError(f"{path.name} lacks llm_backbone keys {absent}")
    tied = torch.equal(language[_EMBEDDING], language[_HEAD])
    with torch.device("meta"):
        network = MiniVLANetwork(architecture, len(language[_EMBEDDING]), tied=tied)
    _compare(path.name, state, network)
    for part in PARTS:
        getattr(network, part).load_state_dict(state[part], assign=True)
    # Its frequencies are no weights: nothing has filled them in.
    network.llm.model.rotary_emb = type(network.llm.model.rotary_emb)(network.llm.config)
    network.llm.tie_weights()
    return network


def state_of(network: MiniVLANetwork) -> State:
    """Returns the network's weights in the checkpoint's layout, LoRA adapters merged into them."""
    state = {part: dict(getattr(network, part).state_dict()) for part in PARTS}
    language = merged(network.llm).state_dict()
    state["llm_backbone"] = {f"llm.{name}": value for name, value in language.items()}
    return state


def _read(path: Path) -> State:
    content = torch.load(path, map_location="cpu", weights_only=True)
    model = content.get("model") if isinstance(content, Mapping) else None
    if not isinstance(model, Mapping):
        raise CheckpointError(f'{path.name} must hold a dictionary "model" of state dicts')
    missing, extra = set(PARTS) - set(model), set(model) - set(PARTS)
    if missing or extra:
        raise CheckpointError(
            f'"model" of {path.name} must hold {", ".join(PARTS)}; '
            f"missing: {sorted(missing)}, left over: {sorted(extra)}"
        )
    return {part: dict(model[part]) for part in PARTS}


def _compare(name: str, state: State, network: MiniVLANetwork) -> None:
    lines = []
    for part in PARTS:
        wanted, found = getattr(network, part).state_dict(), state[part]
        lines += [f"missing: {part}.{key}" for key in wanted if key not in found]
        lines += [f"left over: {part}.{key}" for key in found if key not in wanted]
        lines += [
            f"{part}.{key} has shape {tuple(found[key].shape)}, expected {tuple(value.shape)}"
            for key, value in wanted.items()
            if key in found and found[key].shape != value.shape
        ]
    if lines:
        raise CheckpointError(f"{name} does not fit the architecture:\n  " + "\n  ".join(lines))
