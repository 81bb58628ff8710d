"""The levels of isolation, strongest first, and the layers that each is made of."""

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

__all__ = ["LEVELS", "Level", "layer_names", "levels_down_to"]

Level: TypeAlias = Literal["namespaces", "landlock", "unsafe"]

LEVELS: Final[dict[Level, tuple[str, ...]]] = {
    "namespaces": ("namespaces", "rlimits", "landlock", "seccomp"),
    "landlock": ("rlimits", "landlock", "seccomp"),
    "unsafe": ("rlimits",),
}

_PARTS = {
    "namespaces": (
        "user", "mnt", "pid", "net", "ipc", "uts", "private_root", "quota", "capabilities",
    ),
}  # fmt: skip


def layer_names(layers: Collection[str]) -> tuple[str, ...]:
    """Layers one by one, as they appear in an execution."""
    names: list[str] = []
    for layer in LEVELS["namespaces"]:
        if layer in layers:
            names += _PARTS.get(layer, (layer,))
    return (*names, "no_new_privs", "watchdog")


def levels_down_to(min_level: Level, allow_unsafe: bool) -> list[Level]:
    """The levels to try, strongest first.

    Raises:
        ValueError: ``min_level`` is unknown, or ``unsafe`` without ``allow_unsafe``.
    """
    if min_level not in LEVELS:
        raise ValueError(f"min_level must be one of {tuple(LEVELS)}, got {min_level!r}")
    if min_level == "unsafe" and not allow_unsafe:
        raise ValueError("min_level='unsafe' also needs allow_unsafe=True")
    order: list[Level] = list(LEVELS)
    lowest: Level = "unsafe" if allow_unsafe else min_level
    return order[: order.index(lowest) + 1]
