"""Runs a command on a kernel that lacks, or refuses, some system calls.

``python without_calls.py unshare=EPERM mount_setattr=ENOSYS -- command...``: a real refusal, by a
seccomp filter, which every process below inherits.
"""

import errno
import os
import platform
import struct
import sys

from wmrl_envs.autoresearch.sandbox.forkserver import seccomp

_NUMBERS = {
    "x86_64": {"unshare": 272, "clone": 56, "mount_setattr": 442, "landlock_create_ruleset": 444},
    "aarch64": {"unshare": 97, "clone": 220, "mount_setattr": 442, "landlock_create_ruleset": 444},
}
_LOAD_NUMBER = struct.pack("HBBI", 0x20, 0, 0, 0)
_LOAD_FLAGS = struct.pack("HBBI", 0x20, 0, 0, 16)
_ALLOW = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
_NEW_USER = 0x10000000


def main() -> None:
    """Becomes the command, under a filter of the calls named before ``--``."""
    split = sys.argv.index("--")
    program = _LOAD_NUMBER
    for refusal in sys.argv[1:split]:
        name, error = refusal.split("=")
        program += _refuse(name, getattr(errno, error))
    seccomp.install(program + _ALLOW)
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])


def _refuse(name: str, error: int) -> bytes:
    """``clone`` is refused for new user namespaces only, as processes are made by it too."""
    number = _NUMBERS[platform.machine()][name]
    answer = struct.pack("HBBI", 0x06, 0, 0, 0x00050000 | error)
    if name != "clone":
        return struct.pack("HBBI", 0x15, 0, 1, number) + answer
    new_user = struct.pack("HBBI", 0x45, 0, 1, _NEW_USER)
    return struct.pack("HBBI", 0x15, 0, 4, number) + _LOAD_FLAGS + new_user + answer + _ALLOW


if __name__ == "__main__":
    main()
