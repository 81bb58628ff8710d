"""The numbers that a simulation takes: which are published, which are assumed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal

__all__ = [
    "ASSUMED",
    "COLOURS",
    "PUBLISHED",
    "PUBLISHED_HOURS",
    "TITLES",
    "Arm",
    "Workload",
    "agent",
]

Arm = Literal["real", "wmrl", "world-model"]
TITLES: Final[Mapping[Arm, str]] = MappingProxyType(
    {"real": "real execution", "wmrl": "WMRL", "world-model": "pure world model"}
)
COLOURS: Final[Mapping[Arm, str]] = MappingProxyType(
    {"real": "#3b4048", "wmrl": "#0b6aa8", "world-model": "#c75a00"}
)
"""The report's colours of the same arms."""

PUBLISHED_HOURS: Final[Mapping[str, Mapping[Arm, float]]] = MappingProxyType(
    {
        "4B": MappingProxyType({"real": 883.0, "wmrl": 286.0, "world-model": 269.0}),
        "9B": MappingProxyType({"real": 1174.0, "wmrl": 349.0, "world-model": 330.0}),
    }
)
"""Training compute of the paper's main table, GPU-hours (arXiv 2608.12564)."""


@dataclass(frozen=True)
class Workload:
    """One training run on one cluster.

    GPUs generate, grade with the world model and update; they are shared by all of these, and while
    an update runs nothing is generated. An execution holds a slot for its whole time.

    Attributes:
        groups: Groups an update takes.
        group_size: Trajectories a group.
        turns: Graded turns a trajectory.
        steps: Updates of the run.
        staleness: Updates that generation may run ahead; 0 is synchronous.
        time_limit: Seconds after which an execution is ended.
        slots_per_gpu: Sandbox slots a GPU.
        anchors: Share of the groups that WMRL executes.
        anchor_cap: Anchor executions at once.
        gpus: GPUs.
        turn_gpu_seconds: GPU-seconds of generating a turn, in a full batch.
        turn_spread: Sigma of the lognormal length of a turn.
        stream_share: The most of one GPU that a single stream can use, which bounds its speed.
        grade_gpu_seconds: GPU-seconds of one grade of the world model.
        update_gpu_seconds: GPU-seconds of learning from one trajectory.
        execution_seconds: Mean seconds of an execution, before the limit cuts.
        execution_spread: Sigma of its lognormal distribution; 0 makes all alike.
        in_order: Updates take groups in the order of their start, which keeps every group within
            the staleness bound but waits for slow ones; False takes what is finished first.

    Raises:
        ValueError: A number is out of range.
    """

    groups: int = 8
    group_size: int = 8
    turns: int = 4
    steps: int = 3200
    staleness: int = 9
    time_limit: float = 600.0
    slots_per_gpu: float = 3.0
    anchors: float = 0.1
    anchor_cap: int = 24
    gpus: int = 8
    turn_gpu_seconds: float = 0.6
    turn_spread: float = 0.6
    stream_share: float = 0.024
    grade_gpu_seconds: float = 0.17
    update_gpu_seconds: float = 1.16
    execution_seconds: float = 30.0
    execution_spread: float = 1.5
    in_order: bool = True

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name in ("groups", "group_size", "turns", "steps", "gpus", "anchor_cap"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("time_limit", "turn_gpu_seconds", "stream_share", "execution_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}")
        for name in _FROM_ZERO:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)!r}")
        if not 0 <= self.anchors <= 1:
            raise ValueError(f"anchors must lie in [0, 1], got {self.anchors!r}")

    @property
    def slots(self) -> int:
        """Sandbox slots of the cluster, at least one."""
        return max(1, round(self.slots_per_gpu * self.gpus))

    @property
    def trajectories(self) -> int:
        """Trajectories an update takes."""
        return self.groups * self.group_size

    def gpu_seconds(self, arm: Arm) -> float:
        """GPU-seconds of work a step, waiting left out."""
        grade = 0.0 if arm == "real" else self.grade_gpu_seconds
        turn = self.turns * (self.turn_gpu_seconds + grade)
        return self.trajectories * (turn + self.update_gpu_seconds)

    def with_(self, **changes: Any) -> "Workload":
        """A copy with other numbers."""
        return replace(self, **changes)

    def scaled(self, factor: float) -> "Workload":
        """The same with all GPU work times a factor."""
        return self.with_(**{name: getattr(self, name) * factor for name in _GPU_WORK})


_GPU_WORK: Final = ("turn_gpu_seconds", "grade_gpu_seconds", "update_gpu_seconds")
_FROM_ZERO: Final = (
    "staleness",
    "slots_per_gpu",
    "turn_spread",
    "grade_gpu_seconds",
    "update_gpu_seconds",
    "execution_spread",
)

PUBLISHED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "groups": "8 groups a step (authors' public configuration)",
        "group_size": "8 (the same)",
        "turns": "4 (the same); that each is graded is assumed",
        "steps": "3200 (the same); that the table's runs went that far is assumed",
        "staleness": "9 (the same)",
        "time_limit": "600 s (the same)",
        "slots_per_gpu": "3 (the same)",
        "anchors": "about a tenth of the groups (paper)",
        "anchor_cap": "24 (public configuration)",
    }
)
"""Where the published numbers come from."""

ASSUMED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "gpus": "8: one machine; the paper counts GPU-hours, not GPUs",
        "turn_gpu_seconds": "1,500 tokens of at most 4,096 a turn, at 2,500 tokens a GPU-second",
        "turn_spread": "0.6",
        "stream_share": "60 tokens a second for a single stream, of 2,500",
        "grade_gpu_seconds": "4,096 tokens read at 4e14 FLOP/s, 235 tokens written",
        "update_gpu_seconds": "11,600 tokens, three passes (10 FLOP a parameter and token), 4e14 "
        "FLOP/s",
        "execution_seconds": "30 s: nobody published it",
        "execution_spread": "1.5: a long tail, cut at the limit",
        "in_order": "no group may exceed the staleness bound, so that updates wait for slow ones",
    }
)
"""What stands behind the assumed numbers, for the 4B agent."""


def agent(size: str) -> Workload:
    """The stated workload of one of the paper's agents.

    Args:
        size: ``4B``, or ``9B``, whose GPU work is assumed to be 9/4 of that.

    Example:
        >>> round(agent("9B").turn_gpu_seconds, 2)
        1.35
    """
    factors = {"4B": 1.0, "9B": 2.25}
    if size not in factors:
        raise ValueError(f"size must be one of {tuple(factors)}, got {size!r}")
    return Workload().scaled(factors[size])
