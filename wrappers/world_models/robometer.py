"""Robometer, a vision-language model of task progress, behind its own HTTP server."""

import math
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.http_json import JsonClient, RequestFailed
from wmrl_envs.wrappers.world_models.progress_reward import Collapse, collapse_progress
from wmrl_envs.wrappers.world_models.resilience import Backoff, retried
from wmrl_envs.wrappers.world_models.robometer_form import form_of

Signal = Literal["potential", "final", "max", "success"]
OnFault = Literal["raise", "none"]

__all__ = ["RobometerWorldModel", "Signal", "spread_frames"]

_LONGEST_PAUSE = 30.0


class RobometerWorldModel:
    """Grades a rollout by the progress that a Robometer server sees in eight frames of it.

    The frames are spread evenly over the whole rollout, first and last included; they and the
    instruction go to ``POST /evaluate_batch_npy`` (robometer/robometer, arXiv 2603.02115), several
    episodes in one request. The server's progress of every frame becomes one reward:

    * ``"potential"``, ``"final"``, ``"max"``: see
      :func:`~wmrl_envs.wrappers.world_models.progress_reward.collapse_progress`.
    * ``"success"``: the success probability at the last frame, in [0, 1].

    Progress outside [0, 1] is clipped. What may pass is tried again: connections that fail or time
    out, answers that are no JSON, and statuses such as 429 and 503. What then still is no answer
    (or one of the wrong length, or with a NaN) is a fault, never a reward of 0.0. The environment
    must render: wrap it with ``WorldModelRewardWrapper(env, RobometerWorldModel(url), frames=8)``
    and ``render_mode="rgb_array"``.

    Args:
        url: The server, such as ``"http://localhost:8000"``.
        collapse: One of the four above.
        instruction: What the robot was told, for environments whose observation holds no task text.
        frames: Frames sent of each episode.
        batch_size: Episodes in one request.
        timeout: Seconds to connect, between bytes, and for a whole answer.
        retries: Further tries after the first.
        backoff: Seconds before the second try; doubled before each further one, with up to half of
            it taken off at random.
        on_fault: "raise" makes a fault a :class:`WorldModelError`, "none" makes it no opinion on
            the episodes of that request (on the one episode, if only its own numbers are at fault).

    Raises:
        ValueError: An argument is out of its range.

    Example:
        >>> RobometerWorldModel("http://localhost:8000", collapse="final", timeout=10).collapse
        'final'
    """

    def __init__(
        self,
        url: str = "http://localhost:8000",
        collapse: Signal = "potential",
        instruction: str | None = None,
        frames: int = 8,
        batch_size: int = 16,
        timeout: float = 60.0,
        retries: int = 2,
        backoff: float = 0.5,
        on_fault: OnFault = "raise",
    ) -> None:
        for name, value, choices in (
            ("collapse", collapse, get_args(Signal)),
            ("on_fault", on_fault, get_args(OnFault)),
        ):
            if value not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {value!r}")
        for name, number, least in (
            ("frames", frames, 1),
            ("batch_size", batch_size, 1),
            ("retries", retries, 0),
            ("backoff", backoff, 0),
        ):
            if number < least:
                raise ValueError(f"{name} must be at least {least}, got {number!r}")
        if not 0 < timeout < math.inf:
            raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
        if not url.startswith(("http://", "https://")):
            raise ValueError(f'url must start with "http://" or "https://", got {url!r}')
        self.url, self.collapse, self.instruction = url.rstrip("/"), collapse, instruction
        self.frames, self.batch_size, self.timeout = frames, batch_size, timeout
        self.retries, self.backoff, self.on_fault = retries, backoff, on_fault
        self._client = JsonClient(self.url, timeout)
        self._pauses = Backoff(retries + 1, backoff, max(backoff, _LONGEST_PAUSE))

    def health(self) -> dict[str, Any]:
        """What ``GET /health`` says: ``status``, ``available_gpus``, ``total_gpus``.

        Raises:
            WorldModelError: The server cannot be reached, or does not say how it is.
        """
        answer = self._tried(lambda: self._client.get("health"))
        if "status" not in answer:
            raise WorldModelError(f"{self.url}/health must answer a status, got {answer!r:.200}")
        return answer

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order.

        Raises:
            WorldModelError: An episode has no frames or no instruction, or ``on_fault="raise"`` and
                there is a fault.
        """
        samples = iter([self._sample(episode) for episode in episodes])
        predictions: list[Prediction] = []
        while batch := list(islice(samples, self.batch_size)):
            predictions += self._predict_batch(batch)
        return predictions

    def _sample(self, episode: Episode) -> tuple[np.ndarray, str]:
        instruction = self.instruction if self.instruction is not None else episode.task
        if not instruction:
            raise WorldModelError(
                "Robometer needs an instruction: the episode has no task text, so give "
                "RobometerWorldModel(instruction=...)"
            )
        if episode.frames is None or len(episode.frames) == 0:
            raise WorldModelError(
                "Robometer needs frames, the episode has none: "
                f"WorldModelRewardWrapper(..., frames={self.frames})"
            )
        return spread_frames(episode.frames, self.frames), instruction

    def _predict_batch(self, batch: Sequence[tuple[np.ndarray, str]]) -> list[Prediction]:
        try:
            kind, form = form_of(batch)
            answer = self._tried(lambda: self._client.send("evaluate_batch_npy", form, kind))
            rows = _rows(answer, len(batch), success=self.collapse == "success")
        except WorldModelError:
            if self.on_fault == "raise":
                raise
            return [Prediction(None)] * len(batch)
        return [
            self._prediction(row, len(frames)) for row, (frames, _) in zip(rows, batch, strict=True)
        ]

    @property
    def _taken(self) -> Collapse:
        """Of success probabilities the last one counts, as of progress under "final"."""
        return "final" if self.collapse == "success" else self.collapse

    def _prediction(self, row: Any, count: int) -> Prediction:
        try:
            return Prediction(collapse_progress(_numbers(row, count), self._taken))
        except WorldModelError:
            if self.on_fault == "raise":
                raise
            return Prediction(None)

    def _tried(self, request: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return retried(request, self._pauses, self.url, threading.Event().wait)
        except RequestFailed as error:
            raise WorldModelError(f"the Robometer server failed: {error}") from error


def spread_frames(frames: np.ndarray, count: int) -> np.ndarray:
    """At most ``count`` frames, evenly spread, the first and the last among them.

    Args:
        frames: (n, H, W, 3) uint8.
        count: The most frames; of one, the last is kept.

    Raises:
        WorldModelError: They are no such frames.

    Example:
        >>> frames = np.arange(100, dtype=np.uint8)[:, None, None, None].repeat(3, axis=3)
        >>> spread_frames(frames, 8)[:, 0, 0, 0]
        array([ 0, 14, 28, 42, 57, 71, 85, 99], dtype=uint8)
    """
    if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.uint8:
        raise WorldModelError(
            f"frames must be (n, H, W, 3) uint8, got shape {frames.shape} and dtype {frames.dtype}"
        )
    if len(frames) <= count:
        return frames
    first = 0 if count > 1 else len(frames) - 1
    return frames[np.linspace(first, len(frames) - 1, count).round().astype(int)]


def _rows(answer: dict[str, Any], count: int, *, success: bool) -> list[Any]:
    """The answer's list of one list of numbers an episode."""
    outer, inner = ("outputs_success", "success_probs") if success else _PROGRESS
    try:
        rows = answer[outer][inner]
    except (KeyError, TypeError, IndexError) as error:
        raise WorldModelError(
            f"Robometer's answer must hold {outer}.{inner}, got {answer!r:.200}"
        ) from error
    if not isinstance(rows, list) or len(rows) != count:
        raise WorldModelError(
            f"Robometer's {outer}.{inner} must hold {count} rows, one an episode, got {rows!r:.200}"
        )
    return rows


_PROGRESS = ("outputs_progress", "progress_pred")


def _numbers(row: Any, count: int) -> np.ndarray:
    """A row (T,) float64 of finite numbers."""
    numbers = isinstance(row, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in row
    )
    if not numbers or len(row) != count:
        raise WorldModelError(
            f"Robometer must answer {count} numbers, one a frame, got {row!r:.200}"
        )
    values = np.array(row, dtype=np.float64)
    if not np.isfinite(values).all():
        raise WorldModelError(f"Robometer must answer finite numbers, got {row!r:.200}")
    return values
