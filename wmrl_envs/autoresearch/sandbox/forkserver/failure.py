"""What went wrong in the harness, as a JSON object."""

from typing import Any

from .primitives import PrimitiveError

__all__ = ["AbandonedError", "SetupError", "describe"]


class AbandonedError(Exception):
    """The client went away, so nobody wants the outcome."""


class SetupError(Exception):
    """The job's process could not confine itself; ``report`` comes from :func:`describe`."""

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__(report["error"])
        self.report = report


def describe(error: BaseException) -> dict[str, Any]:
    """A failure of the harness as a JSON object: its text, and whether the kernel refused."""
    if isinstance(error, SetupError):
        return error.report
    refused = isinstance(error, PrimitiveError)
    text = str(error) if refused else f"{type(error).__name__}: {error}"
    return {"error": text, "refused": refused}
