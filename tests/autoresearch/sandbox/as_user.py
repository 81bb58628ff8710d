"""Runs a command as an ordinary user, for tests that root starts.

The user need not exist. The interpreter may lie below a directory that only root may enter (as
with pyenv in root's home): in a mount namespace of its own, such directories are covered by
enterable ones that show the needed paths alone, so nothing on the host changes.
"""

import os
import sys

from wmrl_envs.autoresearch.sandbox.forkserver import primitives as kernel
from wmrl_envs.autoresearch.sandbox.paths import import_path, system_paths

USER = 61234
_ENTER_BY_ALL = 0o005


def main() -> None:
    """Becomes the user and then the command in argv."""
    kernel.unshare("mnt")
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    _open_the_way([*system_paths(), *import_path(), sys.argv[1]])
    kernel.drop_to(USER, USER)
    kernel.die_with_parent()
    os.execv(sys.argv[2], sys.argv[2:])


def _open_the_way(needed: list[str]) -> None:
    locked: dict[str, list[str]] = {}
    for path in needed:
        if os.path.exists(path) and (ancestor := _first_locked_ancestor(path)):
            locked.setdefault(ancestor, []).append(path)
    for ancestor, paths in locked.items():
        opened = {path: os.open(path, os.O_PATH) for path in paths if os.path.isdir(path)}
        kernel.mount("tmpfs", ancestor, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")
        for path in sorted(opened, key=len):
            if not os.path.isdir(path):
                os.makedirs(path)
                kernel.mount(f"/proc/self/fd/{opened[path]}", path, None, kernel.MS_BIND)


def _first_locked_ancestor(path: str) -> str | None:
    parts = path.split("/")[1:-1]
    for count in range(1, len(parts) + 1):
        ancestor = "/" + "/".join(parts[:count])
        if os.stat(ancestor).st_mode & _ENTER_BY_ALL != _ENTER_BY_ALL:
            return ancestor
    return None


if __name__ == "__main__":
    main()
