"""The package's own errors: each names the boundary that failed.

A fault of the infrastructure is never a reward: it becomes one of these, or ``graded=False``.
"""

__all__ = [
    "ExecutionCacheError",
    "SandboxError",
    "SandboxUnavailable",
    "TaskFormatError",
    "WMRLError",
    "WorldModelError",
]


class WMRLError(Exception):
    """Base class of the package's errors."""


class ExecutionCacheError(WMRLError, RuntimeError):
    """The file of remembered executions cannot be used; the message names it."""


class SandboxUnavailable(WMRLError, RuntimeError):
    """An isolation layer is missing; the message names the primitive, the errno and the remedy."""


class SandboxError(WMRLError, RuntimeError):
    """The sandbox's own harness failed; the job says nothing about its reward."""


class TaskFormatError(WMRLError, ValueError):
    """A task folder breaks the format; the message names the file, the column and the row."""


class WorldModelError(WMRLError, RuntimeError):
    """A world model raised, or answered with the wrong number or type of predictions."""
