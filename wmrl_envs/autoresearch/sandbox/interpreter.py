"""A Python that runs scripts: where it lies and what it imports from."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

__all__ = ["Interpreter"]

_OLDEST = (3, 10)
_TIMEOUT_S = 60.0
_ASK = (
    "import json, sys; print(json.dumps([sys.version_info[:2], sys.executable, sys.prefix, "
    "sys.base_prefix, sys.path[1:]]))"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python.

    Attributes:
        executable: Absolute path of its program, links not followed: they tell environments.
        prefix: Its ``sys.prefix``.
        base_prefix: Its ``sys.base_prefix``.
        path: Its ``sys.path``.
    """

    executable: str
    prefix: str
    base_prefix: str
    path: tuple[str, ...]

    @classmethod
    def current(cls) -> "Interpreter":
        """The one that runs this process."""
        return cls(sys.executable, sys.prefix, sys.base_prefix, tuple(sys.path))

    @classmethod
    def find(cls, python: str | os.PathLike[str]) -> "Interpreter":
        """The one of this name or path, which is run once to ask it.

        Raises:
            ValueError: There is no such program, or it is no Python 3.10 or newer.
        """
        program = shutil.which(os.path.expanduser(python))
        if program is None:
            raise ValueError(f"python must be a program, got {str(python)!r}, which is none")
        program = os.path.abspath(program)
        if program == sys.executable:
            return cls.current()
        version, executable, prefix, base_prefix, path = _ask(program)
        if tuple(version) < _OLDEST:
            raise ValueError(f"python must be 3.10 or newer, {program} is {version}")
        return cls(executable, prefix, base_prefix, tuple(path))

    @property
    def is_current(self) -> bool:
        """True for the one that runs this process."""
        return self.executable == sys.executable


def _ask(program: str) -> list[Any]:
    try:
        done = subprocess.run(
            [program, "-s", "-c", _ASK],
            capture_output=True, text=True, timeout=_TIMEOUT_S, check=True, env={}, cwd="/",
        )  # fmt: skip
        return list(json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ValueError(
            f"python must be a Python 3.10 or newer, {program} fails: {error}"
        ) from error
