"""What can be missing on a machine that wants to simulate or to render."""

from wmrl_envs.errors import WMRLError

__all__ = ["LiberoUnavailable", "RenderingUnavailable"]


class LiberoUnavailable(WMRLError, ImportError):
    """LIBERO is not installed, or more than one of its distributions is; says what to do."""


class RenderingUnavailable(WMRLError, RuntimeError):
    """No OpenGL context can be made here; the message names what is missing."""
