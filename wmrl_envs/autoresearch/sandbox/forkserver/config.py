"""What every job of a server shares."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from . import landlock, seccomp
from . import primitives as kernel

__all__ = ["Bubblewrap", "ServerConfig", "configure"]


class Bubblewrap:
    """Which bubblewrap starts which interpreter.

    Args:
        program: Path of ``bwrap``.
        python: Path of the interpreter.
        package: The folder of this package; every job sees it at :attr:`place`.
    """

    place: Final = "/.boot/forkserver"

    def __init__(self, program: str, python: str, package: str) -> None:
        self.program = program
        self.python = python
        self.package = package
        self._opened = -1

    def open(self) -> None:
        """Gets hold of the program while its path can still be reached."""
        self._opened = os.open(self.program, os.O_PATH | os.O_CLOEXEC)

    def execute(self, arguments: Iterable[str]) -> None:
        """Becomes bubblewrap, with an empty environment: its process shows it to the job."""
        os.execve(self._opened, [self.program, *arguments], {})


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
        bubblewrap: What enters the namespaces in the server's place; None where that does it.
    """

    layers: frozenset[str]
    system: tuple[str, ...]
    hidden: tuple[str, ...]
    environment: dict[str, str]
    drop_uid: int | None
    seccomp_program: bytes
    bubblewrap: Bubblewrap | None = None

    @property
    def in_namespaces(self) -> bool:
        """True if every job gets namespaces and a root of its own."""
        return "namespaces" in self.layers

    @property
    def forks_into_namespaces(self) -> bool:
        """True if it is this server that makes them."""
        return self.in_namespaces and self.bubblewrap is None


def configure(request: dict[str, Any]) -> ServerConfig:
    """The configuration that the trainer's first message asks for."""
    layers = _choose_layers(request["layers"])
    uid = request["drop_uid"]
    filters = seccomp.build(unix_sockets="namespaces" in layers) if "seccomp" in layers else b""
    wrapper = request.get("bubblewrap")
    return ServerConfig(
        layers=layers,
        system=tuple(request["system"]),
        hidden=tuple(request["hidden"]),
        environment=request["environment"],
        drop_uid=uid if os.getuid() == 0 and kernel.is_mapped(uid) else None,
        seccomp_program=filters,
        bubblewrap=Bubblewrap(**wrapper) if wrapper else None,
    )


def _choose_layers(wanted: list[str]) -> frozenset[str]:
    """Inside namespaces Landlock is a second wall, and not every kernel has it."""
    layers = frozenset(wanted)
    if "namespaces" in layers and landlock.abi() == 0:
        return layers - {"landlock"}
    return layers
