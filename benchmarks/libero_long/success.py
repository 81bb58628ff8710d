"""Success rates of repeated rollouts from the same initial states, as the paper reports them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wmrl_envs.agents.evaluation import clustered_interval

__all__ = ["SPLITS", "StateRollouts", "SuccessTable"]

SPLITS = ("train", "heldout")


@dataclass(frozen=True)
class StateRollouts:
    """The rollouts from one initial state.

    Attributes:
        task: The task's number in its suite.
        state: The initial state's number.
        split: ``train`` where training starts from this state, else ``heldout``.
        successes: Of each rollout.
    """

    task: int
    state: int
    split: str
    successes: tuple[bool, ...]


@dataclass(frozen=True)
class SuccessTable:
    """Success over initial states (arXiv 2608.12564, LIBERO-Long).

    Attributes:
        states: The rollouts of each initial state.

    Example:
        >>> states = [StateRollouts(5, 0, "train", (True, False)),
        ...           StateRollouts(5, 16, "heldout", (True, True))]
        >>> SuccessTable(states).rates("train")
        {'avg': 0.5, 'best': 1.0, 'all': 0.0}
        >>> SuccessTable(states).overall
        0.75
    """

    states: Sequence[StateRollouts]

    def rates(self, split: str) -> dict[str, float]:
        """The rates of one split.

        Returns:
            ``avg``: the mean success; ``best``: states with at least one success (Best@k);
            ``all``: states where all rollouts succeed (All@k). NaN where there are no states.
        """
        rows = [state.successes for state in self.states if state.split == split]
        return {
            "avg": _mean([float(np.mean(row)) for row in rows]),
            "best": _mean([float(any(row)) for row in rows]),
            "all": _mean([float(all(row)) for row in rows]),
        }

    @property
    def overall(self) -> float:
        """The mean success over all initial states, seen and unseen."""
        return _mean([float(np.mean(state.successes)) for state in self.states])

    def interval(self, split: str | None = None) -> tuple[float, float]:
        """The 95 % bootstrap interval of the mean success, initial states resampled whole.

        Args:
            split: One of the splits; None: both together.
        """
        chosen = [state for state in self.states if split in (None, state.split)]
        rows = [(float(hit), i) for i, state in enumerate(chosen) for hit in state.successes]
        return clustered_interval([hit for hit, _ in rows], [i for _, i in rows])

    def record(self) -> dict[str, Any]:
        """A JSON-able record: rates, intervals, and the successes of every state."""
        return {
            "overall": self.overall,
            "overall_interval": self.interval(),
            **{split: {**self.rates(split), "interval": self.interval(split)} for split in SPLITS},
            "states": [
                {
                    "task": state.task,
                    "state": state.state,
                    "split": state.split,
                    "successes": [int(hit) for hit in state.successes],
                }
                for state in self.states
            ],
        }

    @classmethod
    def read(cls, record: dict[str, Any]) -> "SuccessTable":
        """Reads what :meth:`record` wrote."""
        return cls(
            [
                StateRollouts(
                    row["task"], row["state"], row["split"], tuple(map(bool, row["successes"]))
                )
                for row in record["states"]
            ]
        )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
