"""What determines the shapes of a :class:`~wmrl_envs.agents.policies.vla.tiny.TinyVLA`."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

__all__ = ["Observed", "TinyVLAConfig"]

Observed = Literal["state", "pixels", "pixels_state"]

_STRIDE = 16


@dataclass(frozen=True)
class TinyVLAConfig:
    """The shapes of a network.

    Args:
        observation: What it sees: ``"state"`` (robot, poses of objects and fixtures), ``"pixels"``,
            or ``"pixels_state"`` (pictures and the robot's own state, no objects).
        action_chunk: Control steps of one action.
        cameras: The cameras, in order.
        image_size: The side of a picture, pixels, a multiple of 16; a token is 16 pixels wide.
        objects: The most objects and fixtures of a task.
        fixture_joints: The most joints of a task's fixtures.
        state_tokens: Tokens that the state becomes.
        instruction_tokens: Words of the instruction that are read.
        instruction_vocabulary: Into how many tokens words are hashed.
        width: Of the transformer's residual stream.
        layers: Of the transformer.
        heads: Of its attention.

    Raises:
        ValueError: A number is not positive, or they do not fit each other.
    """

    observation: Observed = "state"
    action_chunk: int = 8
    cameras: tuple[str, ...] = ("agentview",)
    image_size: int = 64
    objects: int = 8
    fixture_joints: int = 3
    state_tokens: int = 4
    instruction_tokens: int = 20
    instruction_vocabulary: int = 512
    width: int = 128
    layers: int = 2
    heads: int = 4

    def __post_init__(self) -> None:
        """Checks the numbers."""
        if self.observation not in get_args(Observed):
            raise ValueError(
                f"observation must be one of {get_args(Observed)}, got {self.observation!r}"
            )
        object.__setattr__(self, "cameras", tuple(self.cameras))
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and value < 1:
                raise ValueError(f"{field.name} must be at least 1, got {value!r}")
        if self.width % (2 * self.heads):
            raise ValueError(f"width must be a multiple of 2 * heads, got {self.width!r}")
        if self.image_size % _STRIDE:
            raise ValueError(f"image_size must be a multiple of 16, got {self.image_size!r}")

    @property
    def sees_pixels(self) -> bool:
        """Does it look at pictures?"""
        return self.observation != "state"

    @property
    def sees_state(self) -> bool:
        """Does it read the robot's state?"""
        return self.observation != "pixels"

    @property
    def sees_objects(self) -> bool:
        """Is it told where the objects are?"""
        return self.observation == "state"
