"""Training a progress model on clips, and how well it then reads others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor

from wmrl_envs.wrappers.world_models.progress.clips import ProgressClip
from wmrl_envs.wrappers.world_models.progress.model import ProgressWorldModel
from wmrl_envs.wrappers.world_models.progress.network import (
    ProgressNetwork,
    frame_pairs,
    word_ids,
)
from wmrl_envs.wrappers.world_models.progress_reward import Collapse

__all__ = ["ProgressFidelity", "ProgressSettings", "progress_fidelity", "train_progress"]


@dataclass(frozen=True)
class ProgressSettings:
    """How a progress model is trained.

    Raises:
        ValueError: A number is out of its range.
    """

    epochs: int = 30
    """Passes over all frames."""
    batch_size: int = 64
    """Frames an optimisation step."""
    learning_rate: float = 1e-3
    """Peak learning rate of AdamW, decayed to zero by a cosine."""
    weight_decay: float = 0.05
    """Weight decay of AdamW."""
    image_size: int = 64
    """Side in pixels to which frames are scaled, a multiple of 16."""
    shift: int = 4
    """Augmentation: frames are moved by up to so many pixels."""
    collapse: Collapse = "final"
    """How the model will turn the progress of frames into one reward."""
    seed: int = 0
    """Seed of the weights, the order and the augmentation."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}")
        if self.shift < 0:
            raise ValueError(f"shift must not be negative, got {self.shift!r}")
        if self.image_size < 16 or self.image_size % 16:
            raise ValueError(f"image_size must be a multiple of 16, got {self.image_size!r}")


@dataclass(frozen=True)
class ProgressFidelity:
    """How well predicted progress follows the real one.

    Attributes:
        clips: How many clips.
        mae: Mean absolute error over all frames.
        rank: Mean over clips of Spearman's correlation along the clip; NaN if no clip has spread.
    """

    clips: int
    mae: float
    rank: float


def train_progress(
    clips: Sequence[ProgressClip],
    settings: ProgressSettings = ProgressSettings(),
    on_epoch: Callable[[int, float], None] | None = None,
) -> ProgressWorldModel:
    """Trains a model from scratch; the same clips and settings give the same model on a machine.

    Args:
        clips: Successes and failures alike: a model that saw only successes reads time, not
            progress.
        settings: How.
        on_epoch: Called after each epoch with its number, from 1, and its mean loss.

    Raises:
        ValueError: There are no clips.
    """
    if not clips:
        raise ValueError("clips must not be empty")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = ProgressNetwork(settings.image_size)
        _fit(network, _Frames.of(clips, settings.image_size), settings, on_epoch)
    return ProgressWorldModel(network, settings.image_size, settings.collapse)


def progress_fidelity(model: ProgressWorldModel, clips: Sequence[ProgressClip]) -> ProgressFidelity:
    """Compares a model with clips that it was not trained on.

    Raises:
        ValueError: There are no clips.
    """
    if not clips:
        raise ValueError("clips must not be empty")
    predicted = [model.progress(clip.task, clip.frames) for clip in clips]
    errors = [np.abs(p - clip.progress) for p, clip in zip(predicted, clips, strict=True)]
    ranks = [
        spearmanr(p, clip.progress).statistic
        for p, clip in zip(predicted, clips, strict=True)
        if np.ptp(clip.progress) > 0 and np.ptp(p) > 0
    ]
    return ProgressFidelity(
        clips=len(clips),
        mae=float(np.mean(np.concatenate(errors))),
        rank=float(np.mean(ranks)) if ranks else float("nan"),
    )


@dataclass(frozen=True)
class _Frames:
    """All frames of all clips, scaled once; 8 bits a value keep thousands in memory."""

    pairs: Tensor
    words: list[Tensor]
    progress: Tensor

    @classmethod
    def of(cls, clips: Sequence[ProgressClip], image_size: int) -> "_Frames":
        scaled = [frame_pairs(clip.frames, image_size) for clip in clips]
        return cls(
            torch.cat([((pairs + 1.0) * 127.5).round().to(torch.uint8) for pairs in scaled]),
            [word_ids(clip.task) for clip in clips for _ in clip.frames],
            torch.cat([torch.as_tensor(clip.progress, dtype=torch.float32) for clip in clips]),
        )

    def batches(self, size: int, shift: int) -> Iterator[tuple[Tensor, list[Tensor], Tensor]]:
        """One epoch in a new order, both frames of a pair moved alike."""
        for rows in torch.randperm(len(self.progress)).split(size):
            pairs = self.pairs[rows].float() / 127.5 - 1.0
            yield _moved(pairs, shift), [self.words[i] for i in rows], self.progress[rows]


def _moved(pairs: Tensor, shift: int) -> Tensor:
    """Every image by its own offset; what comes in at the border repeats the edge."""
    if not shift:
        return pairs
    side = pairs.shape[-1]
    padded = torch.nn.functional.pad(pairs, (shift,) * 4, mode="replicate")
    offsets = torch.randint(0, 2 * shift + 1, (len(pairs), 2)).tolist()
    return torch.stack(
        [p[:, y : y + side, x : x + side] for p, (y, x) in zip(padded, offsets, strict=True)]
    )


def _fit(
    network: ProgressNetwork,
    frames: _Frames,
    settings: ProgressSettings,
    on_epoch: Callable[[int, float], None] | None,
) -> None:
    steps = settings.epochs * -(-len(frames.progress) // settings.batch_size)
    optimizer = torch.optim.AdamW(
        network.parameters(), settings.learning_rate, weight_decay=settings.weight_decay
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    network.train()
    for epoch in range(settings.epochs):
        losses = []
        for pairs, words, progress in frames.batches(settings.batch_size, settings.shift):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                network(pairs, words), progress
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        if on_epoch is not None:
            on_epoch(epoch + 1, float(np.mean(losses)))
