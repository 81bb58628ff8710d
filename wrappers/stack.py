"""Looking down a stack of wrappers."""

from collections.abc import Iterator
from typing import Any, TypeVar

import gymnasium as gym

__all__ = ["check_order", "find_wrapper", "layers"]

_Wrapper = TypeVar("_Wrapper")

_ORDER = ("AnchorSamplingWrapper", "WorldModelRewardWrapper", "CorrectionWrapper")


def layers(env: Any) -> Iterator[Any]:
    """The wrappers of a stack from the outermost to the environment itself."""
    while isinstance(env, (gym.Wrapper, gym.vector.VectorWrapper)):
        yield env
        env = env.env
    yield env


def find_wrapper(env: Any, kind: type[_Wrapper]) -> _Wrapper | None:
    """The outermost wrapper of this class in a stack, or None."""
    return next((layer for layer in layers(env) if isinstance(layer, kind)), None)


def check_order(env: Any, name: str) -> None:
    """Raises ValueError if a wrapper that belongs further out, or ``name`` itself, is beneath.

    Classes are known by their names, because single and vector wrappers share them.
    """
    later = _ORDER[_ORDER.index(name) :]
    for layer in layers(env):
        for kind in type(layer).__mro__:
            if kind.__name__ in later:
                raise ValueError(
                    f"{name} belongs beneath {kind.__name__}, once; the order from the "
                    f"environment outwards is {', '.join(_ORDER)}"
                )
