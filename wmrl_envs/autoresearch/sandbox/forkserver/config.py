"""What every job of a server shares."""

import os
from dataclasses import dataclass
from typing import Any

from . import landlock, seccomp
from . import primitives as kernel

__all__ = ["ServerConfig", "configure"]


@dataclass(frozen=True)
class ServerConfig:
    """What every job of a server shares; see ``RootPlan`` and ``Confinement``.

    Attributes:
        layers: The names of the layers that jobs enter.
        system: Host paths shown read-only.
        hidden: Host paths that stay hidden inside them.
        environment: The environment of every job.
        drop_uid: The user that jobs of a root server run as; None where the server is not root.
        seccomp_program: The filter, built once.
    """

    layers: frozenset[str]
    system: tuple[str, ...]
    hidden: tuple[str, ...]
    environment: dict[str, str]
    drop_uid: int | None
    seccomp_program: bytes

    @property
    def in_namespaces(self) -> bool:
        """True if every job gets namespaces and a root of its own."""
        return "namespaces" in self.layers


def configure(request: dict[str, Any]) -> ServerConfig:
    """The configuration that the trainer's first message asks for."""
    layers = _choose_layers(request["layers"])
    uid = request["drop_uid"]
    filters = seccomp.build(unix_sockets="namespaces" in layers) if "seccomp" in layers else b""
    return ServerConfig(
        layers=layers,
        system=tuple(request["system"]),
        hidden=tuple(request["hidden"]),
        environment=request["environment"],
        drop_uid=uid if os.getuid() == 0 and kernel.is_mapped(uid) else None,
        seccomp_program=filters,
    )


def _choose_layers(wanted: list[str]) -> frozenset[str]:
    """Inside namespaces Landlock is a second wall, and not every kernel has it."""
    layers = frozenset(wanted)
    if "namespaces" in layers and landlock.abi() == 0:
        return layers - {"landlock"}
    return layers
