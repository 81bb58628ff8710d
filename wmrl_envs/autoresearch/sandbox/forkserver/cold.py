"""The first process inside bubblewrap: forks the script's, and ends with the supervisor."""

import os
import select
import socket
import sys
from typing import NoReturn

from . import primitives as kernel
from . import seccomp
from .bubblewrap import UP
from .config import ServerConfig
from .confinement import Confinement, Given, run_confined
from .protocol import receive_message

__all__ = ["main"]


def main(descriptor: int) -> NoReturn:
    """Says that it is up, waits for the plan and forks a process that goes by it.

    With this process, the first of its pid namespace, all others end.
    """
    channel = socket.socket(fileno=descriptor)
    channel.sendall(UP)
    header, _ = receive_message(channel, 0)
    plan, config = Confinement(**header["plan"]), _configure(frozenset(header["layers"]))
    kernel.set_dumpable(False)  # what this process holds is none of the script's business
    pid = os.fork()
    if pid == 0:
        kernel.set_dumpable()
        _forget_this_package()
        run_confined(plan, config, Given(1, 2, descriptor, plan.build_ruleset(config)))
    _pass_on_the_end(pid, channel)


def _configure(layers: frozenset[str]) -> ServerConfig:
    return ServerConfig(
        layers=layers,
        system=(),
        hidden=(),
        environment={},
        drop_uid=None,
        seccomp_program=seccomp.build() if "seccomp" in layers else b"",
    )


def _forget_this_package() -> None:
    """Scripts must not find our modules, nor the working directory under its other name ''."""
    own = __name__.split(".")[0]
    for name in [name for name in sys.modules if name.split(".")[0] == own]:
        del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if entry]


def _pass_on_the_end(pid: int, channel: socket.socket) -> NoReturn:
    """Ends as the script does, or when the supervisor is gone."""
    for stream in (0, 1, 2):
        os.close(stream)
    poller = select.poll()
    poller.register(os.pidfd_open(pid), select.POLLIN)
    poller.register(channel, select.POLLRDHUP)
    if channel.fileno() in dict(poller.poll()):
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os._exit(code if code >= 0 else 128 - code)
