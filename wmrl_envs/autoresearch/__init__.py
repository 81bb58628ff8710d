"""AutoResearch: machine-learning tasks; actions are programs, the reward is their score."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wmrl_envs.autoresearch.own import make_task

__all__ = ["make_task"]


def __getattr__(name: str) -> Any:
    """Loads :func:`make_task` when it is first used: it needs pandas."""
    if name == "make_task":
        from wmrl_envs.autoresearch.own import make_task

        return make_task
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
