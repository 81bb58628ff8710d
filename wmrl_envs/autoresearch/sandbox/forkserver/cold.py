"""The first thing that an interpreter inside bubblewrap runs; then it runs the script."""

import socket
import sys
from typing import Any

from .bubblewrap import UP
from .confinement import Confinement, run_confined
from .protocol import receive_message

__all__ = ["main"]


def main(descriptor: int) -> None:
    """Says that it is up, waits for the plan, confines itself by it and runs the script."""
    channel = socket.socket(fileno=descriptor)
    channel.sendall(UP)
    header, _ = receive_message(channel, 0)
    _forget_this_package()
    run_confined(_plan(header), 1, 2, channel.detach())


def _plan(header: dict[str, Any]) -> Confinement:
    return Confinement(
        **{
            **header,
            "layers": frozenset(header["layers"]),
            "readable": tuple((path, rights) for path, rights in header["readable"]),
            "seccomp_program": b"",
        }
    )


def _forget_this_package() -> None:
    """Scripts must not find our modules, nor the working directory under its other name ''."""
    own = __name__.split(".")[0]
    for name in [name for name in sys.modules if name.split(".")[0] == own]:
        del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if entry]
