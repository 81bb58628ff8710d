"""Reads the success of LIBERO runs: rollouts from initial states, before and after training."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wmrl_envs.benchmarks.report.episodes import Episode, number

__all__ = ["START_FOLDER", "SUCCESS_SPLITS", "state_episodes"]

START_FOLDER = "sft-success"
"""Where a comparison keeps the success of the policy that all arms start from."""
SUCCESS_SPLITS: Mapping[str, str] = {"train": "in_domain", "heldout": "out_of_distribution"}


def state_episodes(record: Mapping[str, Any], step: int) -> tuple[Episode, ...]:
    """The rollouts of an ``evaluation.json``, each an episode; empty where there are none.

    Args:
        record: What the file holds.
        step: The policy's step.
    """
    states = record.get("states")
    return tuple(_rollouts(states, step)) if isinstance(states, list) else ()


def _rollouts(states: Sequence[Any], step: int) -> Iterator[Episode]:
    for state in states:
        successes = state.get("successes") if isinstance(state, Mapping) else None
        if isinstance(successes, list):
            split = str(state.get("split", "rollouts"))
            name = f"task {state.get('task')}, initial state {state.get('state')}"
            for hit in successes:
                word = "success" if hit else "failure"
                kind = SUCCESS_SPLITS.get(split, split)
                yield Episode(kind, step, name, word, measured=number(hit))
