"""What may run jobs, in which order it is tried, and how its server is configured."""

import os
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from wmrl_envs.autoresearch.sandbox import paths
from wmrl_envs.autoresearch.sandbox.interpreter import Interpreter
from wmrl_envs.autoresearch.sandbox.levels import LEVELS, Level, levels_down_to
from wmrl_envs.errors import SandboxUnavailable

__all__ = ["BACKENDS", "Backend", "Blueprint", "Candidate", "candidates"]

Backend: TypeAlias = Literal["forkserver", "bubblewrap"]
BACKENDS: Final = ("auto", *get_args(Backend))
_DROP_UID = 61000


@dataclass(frozen=True)
class Candidate:
    """A backend at a level of isolation."""

    backend: Backend
    level: Level

    def __str__(self) -> str:
        return self.level if self.backend == "forkserver" else f"{self.level} by {self.backend}"


def candidates(
    backend: str, min_level: Level, allow_unsafe: bool, python: Interpreter
) -> list[Candidate]:
    """What to try, the strongest and fastest first.

    bubblewrap is behind the fork server, because it starts an interpreter a job, and before every
    weaker level. Another interpreter than this process's is for bubblewrap alone.

    Raises:
        ValueError: ``backend`` or ``min_level`` is unknown, or they do not go together.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {BACKENDS}, got {backend!r}")
    if backend == "forkserver" and not python.is_current:
        raise ValueError(
            f"python={python.executable!r} needs backend='bubblewrap' or 'auto': the fork server "
            "runs jobs in the interpreter of this process"
        )
    levels = levels_down_to(min_level, allow_unsafe)
    both = [Candidate("forkserver", levels[0]), Candidate("bubblewrap", levels[0])]
    weaker = [Candidate("forkserver", level) for level in levels[1:]]
    wanted = "bubblewrap" if not python.is_current else backend
    return [one for one in (*both, *weaker) if wanted in ("auto", one.backend)]


@dataclass(frozen=True)
class Blueprint:
    """What the servers of one sandbox are made from.

    Attributes:
        python: The interpreter of the jobs.
        preload: Modules that a fork server imports once.
        hidden: Real paths that no job may read.
    """

    python: Interpreter
    preload: Sequence[str]
    hidden: Sequence[str]

    def server(self, candidate: Candidate) -> tuple[dict[str, Any], dict[str, str]]:
        """The request to a server (see ``forkserver.main``) and its environment.

        Raises:
            SandboxUnavailable: The backend's program is not installed.
        """
        if candidate.level == "unsafe":
            warnings.warn(
                "the sandbox runs scripts with resource limits alone: they can read and write all "
                "that this user can",
                stacklevel=2,
            )
        request = {
            "layers": LEVELS[candidate.level],
            "path": paths.import_path(),
            "system": paths.system_paths(self.python),
            "hidden": list(self.hidden),
            "environment": paths.server_environment(os.environ, self.python),
            "preload": list(self.preload),
            "drop_uid": _DROP_UID,
        }
        if candidate.backend == "bubblewrap":
            request |= {"preload": [], "bubblewrap": self._bubblewrap()}
        return request, paths.server_environment(os.environ)

    def _bubblewrap(self) -> dict[str, str]:
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxUnavailable(
                "exec bwrap: ENOENT (No such file or directory); install bubblewrap 0.8 or newer, "
                "such as by apt-get install bubblewrap"
            )
        return {
            "program": os.path.realpath(program),
            "python": self.python.executable,
            "package": os.path.join(paths.server_folder(), "forkserver"),
        }
