"""The supervisor of one job: trusted, forked by the server, gone when the job is answered."""

import errno
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Iterable
from typing import Any, Final

from . import landlock, usage
from . import primitives as kernel
from .artifact import read_artifact
from .bubblewrap import Cover, Launch, Shown
from .config import Bubblewrap, ServerConfig
from .confinement import Confinement
from .failure import AbandonedError, describe
from .launch import Child, Launcher
from .namespaces import make
from .protocol import receive_message, send_message
from .rootfs import INSIDE_ID, WORK, RootPlan, enter
from .watch import Outcome, watch

__all__ = ["BODY_LIMIT", "supervise"]

BODY_LIMIT: Final = 4 << 30
"""Bytes of code and files of one job."""

_OUR_PROCESSES = 1


def supervise(
    connection: socket.socket, server: ServerConfig, parent: int, launch: Launcher
) -> None:
    """Receives a job, runs it and sends its outcome, or what failed in the harness.

    ``parent`` is a pidfd of the server, with which this process and its job end.
    """
    try:
        _follow(parent)
        job, body = receive_message(connection, BODY_LIMIT)
        header, artifact = _run(job, body, server, connection, launch)
    except AbandonedError:
        return
    except BaseException as error:
        header, artifact = {"harness": describe(error)}, None
    send_message(connection, header, [artifact or b""])


def _follow(parent: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    kernel.die_with_parent()
    if select.select([parent], [], [], 0)[0]:  # it died before the line above
        os._exit(72)
    os.close(parent)


def _run(
    job: dict[str, Any],
    body: bytes,
    server: ServerConfig,
    connection: socket.socket,
    launch: Launcher,
) -> tuple[dict[str, Any], bytes | None]:
    if server.bubblewrap is not None:
        return _run_by(server.bubblewrap, job, body, server, connection)
    work = _enter_isolation(job, server)
    kernel.die_with_parent()  # a change of user or user namespace clears it
    try:
        return _run_in(work, job, body, server, connection, launch)
    finally:
        if work != WORK:
            _remove(work)


def _run_in(
    work: str,
    job: dict[str, Any],
    body: bytes,
    server: ServerConfig,
    connection: socket.socket,
    launch: Launcher,
) -> tuple[dict[str, Any], bytes | None]:
    os.chdir(work)
    _write_files(job["files"], body)
    _link_data(job["data"], server.in_namespaces)
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    child = launch(_confinement(job, server, work), server)
    return _follow_to_the_end(child, job, directory, connection)


def _follow_to_the_end(
    child: Child, job: dict[str, Any], directory: int, connection: socket.socket
) -> tuple[dict[str, Any], bytes | None]:
    outcome = watch(child, job["limits"], connection)
    artifact, reason = read_artifact(directory, job["artifact"], job["limits"]["artifact_mb"] << 20)
    return _header(outcome, artifact, reason), artifact


def _run_by(
    bubblewrap: Bubblewrap,
    job: dict[str, Any],
    body: bytes,
    server: ServerConfig,
    connection: socket.socket,
) -> tuple[dict[str, Any], bytes | None]:
    """Prepares the job from outside, through its root, while its interpreter waits for word."""
    os.umask(0o022)
    plan = _confinement(job, server, WORK)
    launch = Launch(bubblewrap, _shown(bubblewrap, job, server), plan)
    started = launch.start(connection)
    os.chdir(started.seen_from_here(WORK))
    _write_files(job["files"], body)
    _link_data(job["data"], True, started.seen_from_here(""))
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    started.release(plan, server.layers - {"namespaces"})
    return _follow_to_the_end(started.child, job, directory, connection)


def _shown(bubblewrap: Bubblewrap, job: dict[str, Any], server: ServerConfig) -> Shown:
    """What bubblewrap mounts, and from where.

    Root gives itself up first; since Python may lie below a home that only root may enter, it shows
    all to the user that it becomes in a private root, out of which bubblewrap builds another.
    """
    bubblewrap.open()
    data = {**job["data"], bubblewrap.package: bubblewrap.place}
    hidden = (*server.hidden, *job["hidden"])
    if server.drop_uid is None:
        return Shown(server.system, data, Cover.of((*server.system, *data), data, hidden))
    kernel.unshare("mnt")
    enter(_root_plan({**job, "data": data}, server, server.drop_uid))
    kernel.drop_to(server.drop_uid, server.drop_uid)
    kernel.die_with_parent()  # the change of user has cleared it
    return Shown(server.system, {place: place for place in data.values()}, ())


def _header(outcome: Outcome, artifact: bytes | None, reason: str | None) -> dict[str, Any]:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "execution": {**outcome._asdict(), "artifact_error": reason},
        "has_artifact": artifact is not None,
        "supervisor_cpu_s": own.ru_utime + own.ru_stime,
    }


def _enter_isolation(job: dict[str, Any], server: ServerConfig) -> str:
    """Enters the namespaces; returns the working directory of the job.

    Root builds the private root first, because Python may lie below a home that only root may
    enter, and gives root up afterwards; an ordinary user becomes root of a user namespace first.
    """
    os.umask(0o022)
    if not server.in_namespaces:
        return _enter_directory(server)
    if server.drop_uid is not None:
        kernel.unshare("mnt")
        enter(_root_plan(job, server, server.drop_uid))
        kernel.drop_to(server.drop_uid, server.drop_uid)
    make(INSIDE_ID)
    if server.drop_uid is None:
        enter(_root_plan(job, server, INSIDE_ID))
    return WORK


def _enter_directory(server: ServerConfig) -> str:
    """Without namespaces: a directory of the host, removed after the job."""
    import tempfile  # only here, because every supervisor pays for what the server imports

    kernel.become_subreaper()
    if server.drop_uid is not None:
        needed = [path for path in sys.path if os.path.isdir(path)]
        kernel.drop_to(server.drop_uid, server.drop_uid)
        _require_readable(needed, server.drop_uid)
    return tempfile.mkdtemp(prefix="wmrl-job-")


def _remove(directory: str) -> None:
    import shutil

    shutil.rmtree(directory, ignore_errors=True)


def _require_readable(paths: Iterable[str], uid: int) -> None:
    for path in paths:
        if not os.access(path, os.R_OK | os.X_OK):
            raise kernel.PrimitiveError(
                errno.EACCES,
                f"read {path} as user {uid}",
                "without namespaces a server of root needs a Python outside of root's home; "
                "run as an ordinary user, or where namespaces are allowed",
            )


def _root_plan(job: dict[str, Any], server: ServerConfig, owner: int) -> RootPlan:
    limits = job["limits"]
    return RootPlan(
        server.system,
        (*server.hidden, *job["hidden"]),
        job["data"],
        limits["disk_mb"],
        limits["inodes"],
        owner,
    )


def _write_files(files: list[list[Any]], body: bytes) -> None:
    start = 0
    for name, size in files:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "wb") as file:
            file.write(body[start : start + size])
        start += size


def _link_data(data: dict[str, str], mounted: bool, root: str = "") -> None:
    """Scripts read ``train.csv`` and, where it is mounted, ``/data/train.csv`` alike.

    ``root`` is the job's root as this process sees it.
    """
    for path, place in data.items():
        if place == "/data":
            source = place if mounted else path
            for name in os.listdir(root + source):
                if not os.path.lexists(name):
                    os.symlink(f"{source}/{name}", name)


def _confinement(job: dict[str, Any], server: ServerConfig, work: str) -> Confinement:
    threads = str(job["limits"]["threads"])
    scratch = "/tmp" if work == WORK else work
    names = ("OMP", "OPENBLAS", "MKL")
    environment = {
        **server.environment,
        **{f"{name}_NUM_THREADS": threads for name in names},
        "LOKY_MAX_CPU_COUNT": threads,
        "HOME": work,
        "PWD": work,
        "TMPDIR": scratch,
        "JOBLIB_TEMP_FOLDER": scratch,
    }
    return Confinement(
        work=work,
        entry=job["files"][0][0],
        seed=job["seed"],
        limits=job["limits"],
        environment=environment,
        readable=_readable(job, server),
        other_processes=_other_processes(server),
    )


def _other_processes(server: ServerConfig) -> int:
    """A user namespace counts its own processes; without one, all of the user count."""
    return _OUR_PROCESSES if server.in_namespaces else usage.tasks_of_user(os.getuid())


def _readable(job: dict[str, Any], server: ServerConfig) -> tuple[tuple[str, int], ...]:
    """In a private root the hidden paths are covered; on the host they must not be granted."""
    if "landlock" not in server.layers:
        return ()
    if server.in_namespaces:
        shown = (*server.system, *job["data"].values())
        return tuple((path, landlock.READ) for path in shown)
    shown = (*server.system, *job["data"])
    return tuple(landlock.read_all_but(shown, (*server.hidden, *job["hidden"])))
