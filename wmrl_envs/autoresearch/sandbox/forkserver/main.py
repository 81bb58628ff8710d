"""The fork server: imports the scientific stack once, then forks one supervisor a job.

It reads a configuration from the socket that is its standard input, then one byte and one
descriptor a job. What the job is, it never reads.
"""

import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from . import landlock, seccomp
from . import primitives as kernel
from .bubblewrap import Bubblewrap
from .protocol import receive_descriptor, receive_message, send_message
from .supervisor import ServerConfig, supervise

__all__ = ["main"]

_HARMLESS_THREADS = ("jemalloc",)


def main() -> None:
    """Serves until the trainer closes its end of the socket or dies."""
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    request, _ = receive_message(control, 0)
    parent = _watch_parent(request["trainer_pid"])
    try:
        config = _configure(request)
        seconds = _preload(request["preload"])
    except Exception as error:
        send_message(control, {"error": f"{type(error).__name__}: {error}"})
        return
    layers = sorted(config.layers)
    greeting = {"preload_s": seconds, "landlock_abi": landlock.abi(), "layers": layers}
    send_message(control, greeting)
    _serve(control, parent, config)


def _watch_parent(pid: int) -> int:
    """A descriptor that becomes readable when the trainer ends.

    The socket alone does not tell: a process that the trainer forked holds a copy of its other end.
    PR_SET_PDEATHSIG does not do either: it fires when the *thread* that started us ends.
    """
    descriptor = os.pidfd_open(pid)
    if os.getppid() != pid:
        sys.exit(0)
    return descriptor


def _configure(request: dict[str, Any]) -> ServerConfig:
    sys.path[:] = request["path"]
    layers = _choose_layers(request["layers"])
    uid = (
        request["drop_uid"] if os.getuid() == 0 and kernel.is_mapped(request["drop_uid"]) else None
    )
    filters = seccomp.build(unix_sockets="namespaces" in layers) if "seccomp" in layers else b""
    wrapper = request.get("bubblewrap")
    return ServerConfig(
        layers=layers,
        system=tuple(request["system"]),
        hidden=tuple(request["hidden"]),
        environment=request["environment"],
        drop_uid=uid,
        seccomp_program=filters,
        bubblewrap=Bubblewrap(**wrapper) if wrapper else None,
    )


def _choose_layers(wanted: list[str]) -> frozenset[str]:
    """Inside namespaces Landlock is a second wall, and not every kernel has it."""
    layers = frozenset(wanted)
    if "namespaces" in layers and landlock.abi() == 0:
        return layers - {"landlock"}
    return layers


def _preload(names: list[str]) -> float:
    started = time.perf_counter()
    for name in names:
        importlib.import_module(name)
    threads = [name for name in _thread_names() if not name.startswith(_HARMLESS_THREADS)]
    if len(threads) > 1:
        raise RuntimeError(
            f"preload={names!r} started threads {threads[1:]}; a fork would copy their locks"
        )
    _clean_up()
    return time.perf_counter() - started


def _clean_up() -> None:
    """Leaves a heap that jobs need not touch: each page that a fork writes to is copied.

    Our own modules must not be importable by scripts, and what the import caches know of
    directories is not true in a private root; to remove both here is what costs no job a page.
    """
    own = __name__.split(".")[0]
    for name in [name for name in sys.modules if name.split(".")[0] == own]:
        del sys.modules[name]
    sys.path_importer_cache.clear()
    gc.collect()
    gc.freeze()


def _thread_names() -> list[str]:
    names = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as file:
            names.append(file.read().strip())
    return names


def _serve(control: socket.socket, parent: int, config: ServerConfig) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    poller = select.poll()
    for descriptor in (control.fileno(), parent):
        poller.register(descriptor, select.POLLIN)
    pid = os.getpid()
    while True:
        if any(descriptor == parent for descriptor, _ in poller.poll()):
            return
        job = receive_descriptor(control)
        if job is None:
            return
        if os.fork() == 0:
            control.close()
            os.close(parent)
            _supervise_and_exit(job, config, pid)
        os.close(job)


def _supervise_and_exit(job: int, config: ServerConfig, server_pid: int) -> None:
    code = 70
    try:
        with socket.socket(fileno=job) as connection:
            supervise(connection, config, server_pid)
        code = 0
    finally:
        os._exit(code)
