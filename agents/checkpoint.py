"""Checkpoints: one file of tensors and plain values, written whole or not at all.

Nothing is unpickled but tensors, numbers, strings and containers of them (``weights_only=True``).
"""

import copy
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

__all__ = ["environment_state", "load_environment_state", "read", "write"]

_ARRAY = "__ndarray__"


def write(path: str | Path, state: Mapping[str, Any]) -> None:
    """Writes a state so that a crash leaves the old file or the new one, never half of one.

    Args:
        path: The file; its folder is made.
        state: Nested mappings, sequences, numbers, strings, tensors and NumPy arrays.

    Raises:
        TypeError: The state holds something else; the message says where.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            torch.save(_encode(state, "state"), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def read(path: str | Path) -> dict[str, Any]:
    """Reads what :func:`write` wrote, tensors on the CPU.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is no checkpoint, or it is damaged.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no checkpoint at {str(path)!r}")
    try:
        state = _decode(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:
        raise ValueError(f"{str(path)!r} is no readable checkpoint: {error}") from error
    if not isinstance(state, dict):
        raise ValueError(f"{str(path)!r} is no checkpoint: it holds a {type(state).__name__}")
    return state


def environment_state(envs: Any) -> dict[str, Any]:
    """Collects the state of every wrapper in a stack that has ``state_dict``, copied."""
    return {name: copy.deepcopy(part.state_dict()) for name, part in _stateful_parts(envs)}


def load_environment_state(envs: Any, state: Mapping[str, Any]) -> None:
    """Gives every wrapper of a stack the state that :func:`environment_state` collected.

    Raises:
        ValueError: The stack is not the one that was saved.
    """
    parts = dict(_stateful_parts(envs))
    if parts.keys() != state.keys():
        raise ValueError(
            f"envs must have the saved wrappers with state {sorted(state)}, got {sorted(parts)}"
        )
    for name, part in parts.items():
        part.load_state_dict(state[name])


def _stateful_parts(env: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Walks from the outermost wrapper inwards, and into a vector environment's members.

    Types and instance dictionaries are asked, not attributes: wrappers of older Gymnasium versions
    answer for the environment beneath them.
    """
    depth = 0
    while env is not None:
        name = f"{prefix}{depth}:{type(env).__name__}"
        if hasattr(type(env), "state_dict") and hasattr(type(env), "load_state_dict"):
            yield name, env
        members = getattr(env, "__dict__", {}).get("envs")
        for i, member in enumerate(members if isinstance(members, (list, tuple)) else ()):
            yield from _stateful_parts(member, f"{name}[{i}].")
        env = getattr(env, "__dict__", {}).get("env")
        depth += 1


def _encode(value: Any, where: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise TypeError(f"{where} is an array of {value.dtype}; only numbers can be saved")
        return {_ARRAY: torch.from_numpy(np.array(value))}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: _encode(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{where} is a {type(value).__name__}, which cannot be saved")


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return value[_ARRAY].numpy()
        return {key: _decode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_decode(item) for item in value)
    return value
