"""What makes two executions equal, as one hash."""

import hashlib
import importlib.metadata
import json
import platform
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Final

import wmrl_envs
from wmrl_envs.autoresearch.sandbox import Limits

__all__ = ["digest_folder", "execution_key", "versions"]

_PACKAGES: Final = ("numpy", "scipy", "pandas", "scikit-learn", "torch")
_SANDBOX_VERSION: Final = 2
"""Changes when the sandbox would answer the same job differently."""


def execution_key(
    task: str, data: str, code: str, seed: int, limits: Limits, python: str | None = None
) -> str:
    """The SHA-256, in hexadecimal digits, of all that an execution's outcome depends on.

    Args:
        task: The task's name.
        data: What stands for the data that the program may read; see :func:`digest_folder`.
        code: The program.
        seed: The seed that it is started with.
        limits: The limits that it runs under.
        python: The interpreter, where it is not the one that :func:`versions` tells of.

    Returns:
        64 digits; they also stand for the :func:`versions` that are installed.
    """
    parts = [task, data, code, seed, asdict(limits), python, versions()]
    # Programs may hold lone surrogates, which JSON's escapes carry and UTF-8 does not.
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_folder(folder: Path) -> str:
    """The SHA-256 of the names and contents of all files below a folder."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return total.hexdigest()


@cache
def versions() -> dict[str, str]:
    """Versions of Python, of this package and its sandbox, and of what programs import."""
    found = {"python": platform.python_version(), "wmrl-envs": wmrl_envs.__version__}
    found["sandbox"] = str(_SANDBOX_VERSION)
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
