"""AutoResearch: machine-learning tasks; actions are programs, the reward is their score."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wmrl_envs.autoresearch.formats import load_task

__all__ = ["load_task"]


def __getattr__(name: str) -> Any:
    """Loads what is asked for: the sandbox's processes import this package and need none of it."""
    if name == "load_task":
        from wmrl_envs.autoresearch.formats import load_task

        return load_task
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
