"""Logging what the environments' own wrappers have to say about the rewards."""

from collections.abc import Iterator
from typing import Any

from wmrl_envs.agents.callbacks import BaseCallback

__all__ = ["DiagnosticsCallback"]


class DiagnosticsCallback(BaseCallback):
    """Logs, after each step, the ``diagnostics()`` of every wrapper of the environments.

    A correction's are its slope, its anchors' weight and share, and how far predictions still rank
    the episodes of a group as measurements do (``correction/agreement``): when that falls while
    ``rollout/predicted_mean`` rises, the policy is exploiting the world model.

    Args:
        prefix: What the names start with in TensorBoard and in the learner's ``history``.

    Example:
        >>> GRPO(policy, envs).learn(40, DiagnosticsCallback())  # doctest: +SKIP
    """

    def __init__(self, prefix: str = "correction") -> None:
        self._prefix = prefix

    def on_step(self) -> bool:
        """Logs them."""
        for layer in _layers(self.model.envs):
            if hasattr(type(layer), "diagnostics"):
                scalars = layer.diagnostics()
                self.model.log({f"{self._prefix}/{name}": v for name, v in scalars.items()})
        return True


def _layers(env: Any) -> Iterator[Any]:
    """From the outermost wrapper inwards; older Gymnasium's answer for what is beneath them."""
    while env is not None:
        yield env
        env = getattr(env, "__dict__", {}).get("env")
