"""Starts an interpreter inside bubblewrap, which enters the namespaces in our place.

Where namespaces are allowed to bubblewrap alone, its children get no capabilities. So all that
needs one is asked of bubblewrap by its arguments; rlimits, Landlock, seccomp and the script's start
are left to our code in the new interpreter (see ``cold``), which waits until it is released.

bubblewrap is not asked to die with its parent: dead in the middle of its start, it leaves a child
that waits for ever. Instead the new interpreter ends, and all with it, once our end of its socket
is closed; and where an outsider has killed bubblewrap, this process ends what that leaves.
"""

import errno
import json
import os
import select
import signal
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from . import primitives as kernel
from .config import Bubblewrap
from .confinement import Confinement
from .failure import AbandonedError, SetupError
from .launch import Child, End
from .protocol import send_message
from .rootfs import ACCOUNTS, DEVICES, INSIDE_ID, WORK, WRITABLE, places_to_hide
from .usage import Usage, descendants, of_tree

__all__ = ["Cover", "Launch", "Shown", "Started"]

UP: Final = b"U"
"""What the new interpreter says when it waits to be released."""

_START_TIMEOUT_S = 60.0
_ISOLATION = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
    "--unshare-cgroup-try", "--uid", str(INSIDE_ID), "--gid", str(INSIDE_ID),
    "--hostname", "sandbox", "--as-pid-1",
)  # fmt: skip
_REMEDY = (
    "bubblewrap needs unprivileged user namespaces: set sysctl user.max_user_namespaces above 0 "
    "and give bwrap an AppArmor profile that allows userns, or loosen the container's seccomp "
    "profile; versions from 0.8 on are known to work"
)
_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); from forkserver.cold import main; "
    "sys.path.remove(sys.argv[1]); main(int(sys.argv[2]))"
)


@dataclass(frozen=True)
class Cover:
    """A place to be covered, because what is shown there is hidden."""

    place: str
    is_folder: bool

    @classmethod
    def of(
        cls, system: Iterable[str], data: Mapping[str, str], hidden: Iterable[str]
    ) -> "tuple[Cover, ...]":
        """The covers of ``hidden`` real paths; see :func:`places_to_hide`."""
        shown = {path: path for path in system} | dict(data)
        existing = [secret for secret in hidden if os.path.lexists(secret)]
        return tuple(
            cls(place, os.path.isdir(secret))
            for secret in existing
            for place in places_to_hide(shown, [secret])
        )


@dataclass(frozen=True)
class Shown:
    """What a job sees read-only.

    Attributes:
        system: Paths shown at the same place; a link is shown as a link.
        data: Path -> place.
        covers: What is covered of it.
    """

    system: tuple[str, ...]
    data: Mapping[str, str]
    covers: tuple[Cover, ...]

    def arguments(self) -> Iterator[str]:
        """The mounts, in the words of bubblewrap."""
        for path in self.system:
            if os.path.islink(path):
                yield from ("--symlink", os.readlink(path), path)
            elif os.path.exists(path):
                yield from ("--ro-bind", path, path)
        for path, place in self.data.items():
            yield from ("--ro-bind", path, place)
        for cover in self.covers:
            if cover.is_folder:
                yield from ("--tmpfs", cover.place, "--remount-ro", cover.place)
            else:
                yield from ("--ro-bind", "/dev/null", cover.place)


class _WrappedChild:
    """A job inside bubblewrap.

    Args:
        pid: bubblewrap's process id.
        first: That of the namespace's first process, with which all others end.
        pipes: Standard output, standard error, set-up.
    """

    def __init__(self, pid: int, first: int, pipes: tuple[int, int, int]) -> None:
        self._pid = pid
        self._first = first
        self.ended = os.pidfd_open(first)
        self.pipes = pipes

    def usage(self, limit: int) -> Usage:
        return of_tree(self._first, limit)

    def reap(self) -> End:
        """Ends the job.

        Raises:
            SetupError: Somebody has killed bubblewrap, so that nothing is known of the job's end.
        """
        with suppress(ProcessLookupError):  # bubblewrap has waited for it already
            signal.pidfd_send_signal(self.ended, signal.SIGKILL)
        end = End.of(*os.wait4(self._pid, 0)[1:])
        if end.exit_code < 0:
            error = f"bubblewrap was ended by signal {-end.exit_code}"
            raise SetupError({"error": error, "refused": False})
        # The first process adds 128 to a signal, as shells do.
        return end._replace(exit_code=128 - end.exit_code) if end.exit_code > 128 else end


@dataclass(frozen=True)
class Started:
    """An interpreter that waits inside bubblewrap."""

    child: Child
    channel: socket.socket
    root: str

    def seen_from_here(self, place: str) -> str:
        """The path by which this process reaches a place of the job."""
        return self.root + place

    def release(self, plan: Confinement, layers: Iterable[str]) -> None:
        """Lets the interpreter confine itself by ``layers`` and run the script."""
        send_message(self.channel, {"plan": vars(plan), "layers": list(layers)})


@dataclass(frozen=True)
class Launch:
    """One start of bubblewrap.

    Attributes:
        bubblewrap: What starts what.
        shown: What the job sees.
        plan: What confines it.
    """

    bubblewrap: Bubblewrap
    shown: Shown
    plan: Confinement

    def start(self, connection: socket.socket) -> Started:
        """Starts the interpreter and waits until it is there.

        Raises:
            SetupError: bubblewrap or the interpreter failed.
            AbandonedError: The other end of ``connection`` was closed.
        """
        stdout, stderr, info = os.pipe(), os.pipe(), os.pipe()
        ours, theirs = socket.socketpair()
        connection.set_inheritable(False)
        kernel.become_subreaper()
        pid = os.fork()
        if pid == 0:
            os.set_inheritable(info[0], True)  # so that writing to it cannot fail when we are dead
            self._become(stdout[1], stderr[1], info[1], theirs.fileno())
        for _, writing in (stdout, stderr, info):
            os.close(writing)
        theirs.close()
        self._await(ours, connection, os.pidfd_open(pid), stderr[0])
        first = json.loads(os.read(info[0], 4096))["child-pid"]
        os.close(info[0])
        child = _WrappedChild(pid, first, (stdout[0], stderr[0], ours.fileno()))
        return Started(child, ours, f"/proc/{first}/root")

    def _become(self, stdout: int, stderr: int, info: int, channel: int) -> None:
        """In the forked process: becomes bubblewrap."""
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(stdout, 1)
            os.dup2(stderr, 2)
            arguments = list(self._arguments(info, channel))
            self.bubblewrap.execute(arguments)
        except BaseException as error:
            os.write(2, f"bwrap: {error}".encode())
        finally:
            os._exit(71)

    def _arguments(self, info: int, channel: int) -> Iterator[str]:
        limits = self.plan.limits
        yield from _ISOLATION
        for descriptor in (info, channel):
            os.set_inheritable(descriptor, True)
        yield from ("--info-fd", str(info))
        # The root itself is the one file system with a quota: all writable places lie in it.
        yield from ("--size", str(limits["disk_mb"] << 20), "--tmpfs", "/")
        for place in ("/dev", "/etc", "/.boot", *WRITABLE):
            yield from ("--dir", place)
        for name in DEVICES:
            yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
        yield from ("--proc", "/proc")
        for name, text in ACCOUNTS.items():
            yield from ("--file", _stored(text.encode()), f"/{name}")
        yield from self.shown.arguments()
        for place in ("/etc", "/dev", "/"):
            yield from ("--chmod", "0555", place)
        for name, value in self.plan.environment.items():
            yield from ("--setenv", name, value)
        boot = os.path.dirname(self.bubblewrap.place)
        yield from ("--chdir", WORK, "--", self.bubblewrap.python, "-s", "-c", _BOOT, boot)
        yield str(channel)

    def _await(
        self, channel: socket.socket, connection: socket.socket, ended: int, stderr: int
    ) -> None:
        poller = select.poll()
        poller.register(channel, select.POLLIN)
        poller.register(connection, select.POLLRDHUP)
        poller.register(ended, select.POLLIN)  # its child may hold on to the channel
        found = dict(poller.poll(_START_TIMEOUT_S * 1000))
        os.close(ended)
        if connection.fileno() in found:
            raise AbandonedError
        if channel.fileno() not in found or channel.recv(len(UP)) != UP:
            _kill_what_is_left()
            raise SetupError(self._failure(stderr))

    def _failure(self, stderr: int) -> dict[str, object]:
        os.set_blocking(stderr, False)
        try:
            text = os.read(stderr, 4096).decode("utf-8", "replace").strip()
        except BlockingIOError:
            text = f"it was killed, or did not answer within {_START_TIMEOUT_S:.0f} s"
        if text.startswith("bwrap: "):
            return {"error": f"{_with_errno(text)}; {_REMEDY}", "refused": True}
        return {"error": f"{self.bubblewrap.python} did not start: {text}", "refused": False}


def _kill_what_is_left() -> None:
    """The youngest first: its parent, if it lives, then ends by itself."""
    for pid in reversed(descendants(os.getpid())):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _with_errno(message: str) -> str:
    """The message of bubblewrap, most of which end in the text of an errno, with its name."""
    if "No permissions to create" in message:  # which is all that it says of EPERM
        return f"{message} ({errno.errorcode[errno.EPERM]})"
    for number, name in errno.errorcode.items():
        if message.endswith(os.strerror(number)):
            return f"{message} ({name})"
    return message


def _stored(data: bytes) -> str:
    """The number of an inheritable descriptor from which ``data`` can be read."""
    reading, writing = os.pipe()
    os.write(writing, data)  # less than a pipe holds
    os.close(writing)
    os.set_inheritable(reading, True)
    return str(reading)
