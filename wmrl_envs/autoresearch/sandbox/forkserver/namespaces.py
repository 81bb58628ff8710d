"""The namespaces of one job: its supervisor makes most of them, its first process the last."""

import os
from typing import Final

from . import primitives as kernel

__all__ = ["SUPERVISED", "join", "make"]

SUPERVISED: Final = ("user", "mnt", "net", "ipc", "uts")
"""What the supervisor shares with the job; a pid namespace is the job's alone."""

_PROC = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC


def make(inside_id: int) -> None:
    """Enters new namespaces, in which this user is ``inside_id`` and holds every capability."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(*SUPERVISED)
    kernel.map_ids((inside_id, uid), (inside_id, gid))
    kernel.set_hostname(b"sandbox")


def join(supervisor: int, drop_uid: int | None) -> None:
    """Enters the namespaces of a supervisor, given as a pidfd, and mounts /proc for them.

    That comes first because this process's pid namespace belongs to the server's user. Then root
    gives itself up, because root is nobody inside.
    """
    kernel.set_namespace(supervisor, "mnt")
    kernel.mount("proc", "/proc", "proc", _PROC)
    if drop_uid is not None:
        kernel.drop_to(drop_uid, drop_uid)
    kernel.set_namespace(supervisor, *(name for name in SUPERVISED if name != "mnt"))
    kernel.set_dumpable()
