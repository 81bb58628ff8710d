"""The first thing that an interpreter inside bubblewrap runs; then it runs the script."""

import socket
import sys

from .bubblewrap import UP
from .config import ServerConfig
from .confinement import Confinement, Given, run_confined
from .protocol import receive_message

__all__ = ["main"]


def main(descriptor: int) -> None:
    """Says that it is up, waits for the plan, confines itself by it and runs the script."""
    channel = socket.socket(fileno=descriptor)
    channel.sendall(UP)
    header, _ = receive_message(channel, 0)
    _forget_this_package()
    plan = Confinement(**header["plan"])
    config = ServerConfig(frozenset(header["layers"]), (), (), {}, None, b"")
    run_confined(plan, config, Given(1, 2, channel.detach(), plan.build_ruleset(config)))


def _forget_this_package() -> None:
    """Scripts must not find our modules, nor the working directory under its other name ''."""
    own = __name__.split(".")[0]
    for name in [name for name in sys.modules if name.split(".")[0] == own]:
        del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if entry]
