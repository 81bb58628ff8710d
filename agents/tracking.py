"""Logs to experiment trackers: Weights & Biases, and trackio, which speaks its language."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, get_args

from wmrl_envs.agents.callbacks import BaseCallback

__all__ = ["Tracker", "TrackingCallback"]

Tracker = Literal["wandb", "trackio"]


class TrackingCallback(BaseCallback):
    """Sends each step's scalars to a tracker; a resumed run goes on in the same curve.

    Args:
        tracker: ``"wandb"`` or ``"trackio"``; the package must be installed.
        project: The tracker's project.
        name: The run's name.
        config: The run's settings, to be shown beside it.

    Raises:
        ImportError: The package is not installed.
        ValueError: There is no such tracker.
    """

    def __init__(
        self, tracker: Tracker, project: str, name: str, config: Mapping[str, Any] | None = None
    ) -> None:
        if tracker not in get_args(Tracker):
            raise ValueError(f"tracker must be one of {get_args(Tracker)}, got {tracker!r}")
        try:
            self._module: Any = import_module(tracker)
        except ImportError as error:
            raise ImportError(
                f"tracker {tracker!r} needs its package: pip install {tracker}"
            ) from error
        self._options: dict[str, Any] = {"project": project, "name": name, "resume": "allow"}
        self._options["config"] = dict(config or {})
        if tracker == "wandb":
            self._options["id"] = name
        self._started = False

    def on_training_start(self) -> None:
        """Opens the run."""
        self._module.init(**self._options)
        self._started = True

    def on_step(self) -> bool:
        """Sends the last step's scalars."""
        self._module.log(dict(self.model.history[-1]), step=self.model.step)
        return True

    def on_training_end(self) -> None:
        """Closes the run, if training came so far as to open it."""
        if self._started:
            self._module.finish()
            self._started = False
