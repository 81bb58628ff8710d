"""The world model: progress of the frames, collapsed into one reward."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.progress.clips import checked_frames
from wmrl_envs.wrappers.world_models.progress.network import (
    ProgressNetwork,
    frame_pairs,
    word_ids,
)
from wmrl_envs.wrappers.world_models.progress_reward import (
    Collapse,
    checked_collapse,
    collapse_progress,
)

__all__ = ["ProgressWorldModel"]

_WEIGHTS, _CONFIG = "model.safetensors", "config.json"


class ProgressWorldModel:
    """Grades a rollout by the progress that its frames show.

    A small network, trained on demonstrations with :func:`train_progress`; the embedded world model
    for LIBERO, whose observation holds the instruction. An episode without frames gets no opinion.
    ``wmrl world-model train progress DEMOS OUT`` makes one, and three lines use it::

        env = gym.make("wmrl_envs:WMRL/LiberoLong-v0", observation="state", render_mode="rgb_array")
        model = ProgressWorldModel.load("OUT/model")
        env = WorldModelRewardWrapper(env, model, frames=8)

    Args:
        network: The trained network.
        image_size: The side to which frames are scaled, as in training.
        collapse: How the progress of the frames becomes one reward; see
            :func:`~wmrl_envs.wrappers.world_models.progress_reward.collapse_progress`.

    Raises:
        ValueError: ``collapse`` is unknown.

    Example:
        >>> model = ProgressWorldModel(ProgressNetwork(16), image_size=16, collapse="final")
        >>> frames = np.zeros((8, 32, 32, 3), np.uint8)
        >>> [prediction] = model.predict([Episode("stack the cubes", (), frames=frames)])
        >>> 0.0 < prediction.reward < 1.0
        True
    """

    def __init__(
        self, network: ProgressNetwork, image_size: int, collapse: Collapse = "final"
    ) -> None:
        self.network = network.eval()
        self.image_size = image_size
        self.collapse = checked_collapse(collapse)

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order.

        Raises:
            ValueError: An episode's frames are not (n, H, W, 3) uint8.
        """
        return [Prediction(self._reward(episode)) for episode in episodes]

    def progress(self, task: str, frames: np.ndarray) -> np.ndarray:
        """The progress at each frame.

        Args:
            task: The instruction.
            frames: (n, H, W, 3) uint8, the first one from the start of the episode.

        Returns:
            (n,) float64 in [0, 1].
        """
        pairs = frame_pairs(checked_frames(frames), self.image_size)
        with torch.inference_mode():
            logits = self.network(pairs, [word_ids(task)] * len(pairs))
        return torch.sigmoid(logits).double().numpy()

    def _reward(self, episode: Episode) -> float | None:
        if episode.frames is None or not len(episode.frames):
            return None
        return collapse_progress(self.progress(episode.task, episode.frames), self.collapse)

    def save(self, folder: str | Path) -> None:
        """Writes ``model.safetensors`` and ``config.json``.

        Args:
            folder: Made if missing.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.network.state_dict(), folder / _WEIGHTS)
        config = {"image_size": self.image_size, "collapse": self.collapse}
        (folder / _CONFIG).write_text(json.dumps(config) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> "ProgressWorldModel":
        """Reads what :meth:`save` wrote.

        Raises:
            WorldModelError: A file is missing, is not of this kind or does not fit the other.
        """
        folder = Path(folder)
        try:
            config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
            network = ProgressNetwork(config["image_size"])
            network.load_state_dict(load_file(folder / _WEIGHTS))
            return cls(network, config["image_size"], config["collapse"])
        except (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
            raise WorldModelError(f"no progress model in {folder}: {error}") from error
