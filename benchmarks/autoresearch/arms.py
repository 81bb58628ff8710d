"""The reward arms: each is a stack of wrappers around the same environments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gymnasium.vector import VectorEnv

from wmrl_envs.wrappers.vector import (
    AnchorSamplingWrapper,
    CorrectionWrapper,
    WorldModelRewardWrapper,
)
from wmrl_envs.wrappers.world_models.base import WorldModel


@dataclass(frozen=True)
class Arm:
    """How rewards are had.

    Attributes:
        name: The arm's name on the command line.
        title: The arm's name in tables.
        anchors: Fraction of the groups that are graded by real execution; None executes everything
            without any wrapper.
        world_model: Whether a world model grades the rest.
        correction: Arguments of :class:`CorrectionWrapper`, or None for the uncorrected mixture.
    """

    name: str
    title: str
    anchors: float | None
    world_model: bool = True
    correction: Mapping[str, Any] | None = field(default=None)

    def with_anchors(self, fraction: float) -> "Arm":
        """The same arm with another fraction of anchors, where it has any."""
        if not self.anchors:
            return self
        return Arm(self.name, self.title, fraction, self.world_model, self.correction)


def _paper(**switches: bool) -> Mapping[str, Any]:
    return MappingProxyType({"method": "paper", **switches})


ARMS: Mapping[str, Arm] = MappingProxyType(
    {
        arm.name: arm
        for arm in (
            Arm("real", "real execution", None, world_model=False),
            Arm("anchors", "anchor groups alone", 0.1, world_model=False),
            Arm("world-model", "pure world model", 0.0),
            Arm("mixture", "uncorrected mixture", 0.1),
            Arm(
                "denoise", "inverse-variance denoising alone", 0.1, correction=_paper(debias=False)
            ),
            Arm("debias", "online debiasing alone", 0.1, correction=_paper(denoise=False)),
            Arm("wmrl", "WMRL", 0.1, correction=_paper()),
            Arm(
                "rectified",
                "WMRL, rectified",
                0.1,
                correction=MappingProxyType({"method": "rectified"}),
            ),
        )
    }
)


def stack(
    envs: VectorEnv, arm: Arm, world_model: WorldModel | None, seed: int, frames: int = 0
) -> VectorEnv:
    """Puts an arm's wrappers around environments.

    Args:
        envs: The environments that execute.
        arm: The arm.
        world_model: The world model; needed where the arm has one.
        seed: Seed of the anchor draw.
        frames: Frames of an episode that the world model sees.

    Raises:
        ValueError: The arm needs a world model and there is none.
    """
    if arm.anchors is None:
        return envs
    if arm.anchors > 0:
        envs = AnchorSamplingWrapper(envs, fraction=arm.anchors, seed=seed)
    if arm.world_model:
        if world_model is None:
            raise ValueError(f"arm {arm.name!r} needs a world_model, got None")
        envs = WorldModelRewardWrapper(envs, world_model=world_model, frames=frames)
    if arm.correction is not None:
        envs = CorrectionWrapper(envs, **arm.correction)
    return envs
