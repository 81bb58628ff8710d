"""AutoResearch: machine-learning tasks; actions are programs, the reward is their score."""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from wmrl_envs.autoresearch.formats import load_task
    from wmrl_envs.autoresearch.own import make_task

__all__ = ["load_task", "make_task"]

_HOMES: Final = {
    "load_task": "wmrl_envs.autoresearch.formats",
    "make_task": "wmrl_envs.autoresearch.own",
}


def __getattr__(name: str) -> Any:
    """Loads what is asked for: the sandbox's processes import this package and need none of it."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
