"""What a started sandbox says about itself."""

from dataclasses import dataclass

from wmrl_envs.autoresearch.sandbox.levels import Level

__all__ = ["SandboxReport"]


@dataclass(frozen=True)
class SandboxReport:
    """Which layers are live, and why stronger ones are not.

    Attributes:
        backend: Name of the backend.
        level: The level of isolation that the probe entered.
        layers: The layers, one by one.
        refused: One line for every stronger level and for every layer that the kernel lacks: the
            primitive, the errno and the remedy.
        landlock_abi: The kernel's Landlock version; 0 where there is none.
        preload_s: Seconds that the server took to import ``preload``.
        server_pid: Process id of the fork server.
    """

    backend: str
    level: Level
    layers: tuple[str, ...]
    refused: tuple[str, ...]
    landlock_abi: int
    preload_s: float
    server_pid: int

    def __str__(self) -> str:
        lines = [
            f"{self.backend} at level {self.level} (process {self.server_pid}, "
            f"imports took {self.preload_s:.1f} s, Landlock ABI {self.landlock_abi})",
            f"layers: {', '.join(self.layers)}",
            *(f"refused: {reason}" for reason in self.refused),
        ]
        return "\n".join(lines)
