"""Reward functions of TRL, called for some rows only."""

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["ANCHOR", "GROUP", "TrainingOnly", "on_anchors"]

ANCHOR, GROUP = "wmrl_anchor", "wmrl_group"
"""The columns that tell a reward function, and an environment's ``reset``, about a row."""


class TrainingOnly:
    """A reward function that has no opinion during evaluation.

    Args:
        function: The reward function; a synchronous one, as world models are.
        is_training: Tells which it is.
    """

    __name__ = "predicted"

    def __init__(self, function: Callable[..., Any], is_training: Callable[[], bool]) -> None:
        self._function, self._is_training = function, is_training

    def __call__(self, prompts: list[Any], **columns: Any) -> list[float | None]:
        """One prediction a row."""
        if not self._is_training():
            return [None] * len(prompts)
        found: list[float | None] = self._function(prompts=prompts, **columns)
        return found


def on_anchors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reward function that is called with the rows of anchor groups alone, if there are any.

    Args:
        function: A TRL reward function, sync or async.

    Returns:
        A function of the same kind that answers None for the other rows.
    """
    if inspect.iscoroutinefunction(function):

        async def measured(prompts: list[Any], **columns: Any) -> list[float | None]:
            rows = _Rows(columns.pop(ANCHOR))
            if not rows.chosen:
                return rows.scattered([])
            return rows.scattered(await function(**rows.of({"prompts": prompts, **columns})))

    else:

        def measured(prompts: list[Any], **columns: Any) -> list[float | None]:  # type: ignore[misc]
            rows = _Rows(columns.pop(ANCHOR))
            if not rows.chosen:
                return rows.scattered([])
            return rows.scattered(function(**rows.of({"prompts": prompts, **columns})))

    return measured


class _Rows:
    """The rows of a batch that are wanted."""

    def __init__(self, wanted: list[bool]) -> None:
        self.total = len(wanted)
        self.chosen = [i for i, is_wanted in enumerate(wanted) if is_wanted]

    def of(self, columns: dict[str, Any]) -> dict[str, Any]:
        """The columns with the wanted rows alone; what is not a column passes unchanged."""
        taken = {
            name: [values[i] for i in self.chosen] if self._is_column(values) else values
            for name, values in columns.items()
        }
        log_extra = columns.get("log_extra")
        if log_extra is not None:
            taken["log_extra"] = lambda name, values: log_extra(name, self.scattered(values))
        return taken

    def scattered(self, values: list[Any]) -> list[Any]:
        """The values at their rows, None at the others.

        Raises:
            ValueError: There is not one value a row.
        """
        if len(values) != len(self.chosen):
            raise ValueError(
                f"measure returned {len(values)} rewards for {len(self.chosen)} completions"
            )
        found: list[Any] = [None] * self.total
        for i, value in zip(self.chosen, values, strict=True):
            found[i] = value
        return found

    def _is_column(self, values: Any) -> bool:
        return isinstance(values, list) and len(values) == self.total
