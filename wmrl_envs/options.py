"""The reset options that environments and wrappers share."""

from collections.abc import Container, Mapping
from typing import Any

import numpy as np

__all__ = ["may_execute"]


def may_execute(options: Mapping[str, Any] | None, seed: int | None) -> bool:
    """Reads the reset option ``execute``: may an episode's reward be measured?

    Args:
        options: The reset options; a missing ``execute`` stands for True.
        seed: The seed that the episode was reset with, or None.

    Returns:
        The option itself where it is a bool, else whether the seed is among its members.

    Raises:
        TypeError: The option is neither a bool nor a collection of seeds.

    Example:
        >>> may_execute({"execute": {3, 4}}, seed=3), may_execute({"execute": {3, 4}}, seed=None)
        (True, False)
    """
    execute = (options or {}).get("execute", True)
    if isinstance(execute, bool | np.bool_):
        return bool(execute)
    if isinstance(execute, str | bytes) or not isinstance(execute, Container):
        raise TypeError(
            f"options['execute'] must be a bool or a collection of reset seeds, got {execute!r}"
        )
    return seed is not None and seed in execute
