"""Settings that may come as a mapping, which survives an environment's JSON spec."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast

__all__ = ["made"]

T = TypeVar("T")


def made(kind: type[T], given: T | Mapping[str, Any] | None) -> T:
    """The settings themselves, or made of a mapping of their fields.

    Args:
        kind: A dataclass with a default for every field.
        given: An instance, a mapping of some of its fields, or None for the defaults.

    Raises:
        ValueError: The mapping has other fields, or a field has an impossible value.

    Example:
        >>> from wmrl_envs.wrappers.world_models.generation import Generation
        >>> made(Generation, {"max_new_tokens": 64}).max_new_tokens
        64
    """
    if isinstance(given, kind):
        return given
    values = dict(cast("Mapping[str, Any]", given or {}))
    known = [field.name for field in fields(cast("Any", kind))]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"{kind.__name__} has no {', '.join(unknown)}; it has {', '.join(known)}")
    return kind(**values)
