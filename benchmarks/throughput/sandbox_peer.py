"""A warm process that runs scripts without any isolation, for the sandbox to be compared with.

``python sandbox_peer.py KIND FOLDER MODULE...`` reads working directories from standard input, one
a line, runs ``solution.py`` in each, and writes the line back when that has ended. KIND is ``fork``
(the fork server's own warm process, but a bare fork a job) or ``forkserver`` (the standard
library's). FOLDER holds the ``forkserver`` package of the sandbox.
"""

import multiprocessing
import multiprocessing.connection
import os
import runpy
import select
import sys
from collections.abc import Callable, Iterator
from typing import Any

_ENTRY = "solution.py"


def run_in(directory: str) -> None:
    """Runs the script of a directory as ``__main__``."""
    os.chdir(directory)
    runpy.run_path(_ENTRY, run_name="__main__")


class Forks:
    """A bare fork of a warm process a job."""

    def __init__(self, folder: str, modules: list[str]) -> None:
        sys.path.append(folder)
        from forkserver.preload import preload
        from forkserver.script import run_script

        sys.path.remove(folder)
        preload(modules)
        self._run_script = run_script

    def start(self, directory: str) -> tuple[int, Callable[[], Any]]:
        """Starts a job; returns a descriptor that tells its end, and a call to be made then."""
        pid = os.fork()
        if pid == 0:
            os.chdir(directory)
            self._run_script(os.path.join(directory, _ENTRY), 0, 1)
        return os.pidfd_open(pid), lambda: os.waitpid(pid, 0)


class StandardForkServer:
    """``multiprocessing``'s fork server with the modules preloaded."""

    def __init__(self, modules: list[str]) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(modules)

    def start(self, directory: str) -> tuple[int, Callable[[], Any]]:
        """See :meth:`Forks.start`."""
        process = self._context.Process(target=run_in, args=(directory,))
        process.start()
        return os.dup(process.sentinel), process.join


def serve(peer: Forks | StandardForkServer) -> None:
    """Runs what is asked for, however many at once, until standard input ends."""
    running: dict[int, tuple[str, Callable[[], Any]]] = {}
    lines = _lines()
    os.write(1, b"ready\n")
    while True:
        readable, _, _ = select.select([0, *running], [], [])
        for descriptor in readable:
            if descriptor != 0:
                directory, finish = running.pop(descriptor)
                finish()
                os.close(descriptor)
                os.write(1, f"{directory}\n".encode())
                continue
            new = next(lines)
            if new is None:
                return
            for directory in new:
                ended, finish = peer.start(directory)
                running[ended] = (directory, finish)


def _lines() -> Iterator[list[str] | None]:
    """The complete lines of each piece that can be read from standard input; None at its end."""
    rest = b""
    while data := os.read(0, 65536):
        *complete, rest = (rest + data).split(b"\n")
        yield [line.decode() for line in complete]
    yield None


if __name__ == "__main__":
    kind, server_folder, *names = sys.argv[1:]
    serve(Forks(server_folder, names) if kind == "fork" else StandardForkServer(names))
