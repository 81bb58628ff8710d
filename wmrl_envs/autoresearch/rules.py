"""The rules of an episode: which task, how many turns, what is shown, what it pays."""

import hashlib
from dataclasses import dataclass
from typing import Literal, get_args

from gymnasium import spaces

from wmrl_envs.autoresearch.checks import checked_choice, checked_int
from wmrl_envs.autoresearch.grading import Grade, ladder_reward
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.spaces import UnicodeText

__all__ = ["MAX_ACTION", "MAX_FEEDBACK", "MAX_TASK", "Rules"]

RewardName = Literal["ladder", "position", "score"]
ObservationName = Literal["overview", "card"]
FeedbackName = Literal["full", "status", "none"]

MAX_TASK = 100_000
"""The longest task text, in characters; a longer one is cut."""

MAX_FEEDBACK = 20_000
"""The longest feedback, in characters."""

MAX_ACTION = 200_000
"""The longest action, in characters; a longer one is malformed."""


@dataclass(frozen=True)
class Rules:
    """What all episodes of an environment have in common.

    Attributes:
        tasks: At least one task, of different names.
        max_turns: Turns of an episode.
        reward: What the best turn pays: its rung of the ladder, its position, or its raw score.
        observation: How a task is shown: its overview, or its three-line card.
        feedback: What is shown between turns: everything, the status alone, or nothing.

    Raises:
        TypeError: ``max_turns`` is no int.
        ValueError: An attribute has an impossible value.
    """

    tasks: tuple[Task, ...]
    max_turns: int = 1
    reward: str = "ladder"
    observation: str = "overview"
    feedback: str = "full"

    def __post_init__(self) -> None:
        checked_int("max_turns", self.max_turns, least=1)
        checked_choice("reward", self.reward, get_args(RewardName))
        checked_choice("observation", self.observation, get_args(ObservationName))
        checked_choice("feedback", self.feedback, get_args(FeedbackName))

    def observation_space(self) -> spaces.Dict:
        """The space of one episode's observations."""
        return spaces.Dict(
            {
                "task": UnicodeText(MAX_TASK),
                "feedback": UnicodeText(MAX_FEEDBACK),
                "turn": spaces.Discrete(self.max_turns + 1),
            }
        )

    def action_space(self) -> UnicodeText:
        """The space of one episode's actions."""
        return UnicodeText(MAX_ACTION)

    @property
    def shows_scores(self) -> bool:
        """Does an agent get to see the score on the feedback half in time to use it?"""
        return self.feedback == "full" and self.max_turns > 1

    def task_text(self, task: Task) -> str:
        """What the agent sees of a task."""
        text = task.card() if self.observation == "card" else task.overview()
        return text[:MAX_TASK]

    def pays(self, grade: Grade) -> float | None:
        """The reward of an episode whose best turn has this grade.

        Returns:
            A finite float, or None where ``reward="score"`` meets a turn that has no score.
        """
        if self.reward == "ladder":
            return float(ladder_reward(grade))
        if self.reward == "position":
            return 0.0 if grade.position is None else float(grade.position)
        return None if grade.score is None else float(grade.score)

    def choose_task(self, seed: int, name: str | None = None) -> Task:
        """The task of an episode: a pure function of its seed unless it is named.

        Consecutive seeds visit every task once, in a shuffled order, before any of them repeats.

        Args:
            seed: The episode's seed, at least 0.
            name: The name of one of the tasks, or None.

        Raises:
            ValueError: No task has this name.
        """
        if name is not None:
            return self._named(name)
        block, position = divmod(seed, len(self.tasks))
        return sorted(self.tasks, key=lambda task: _shuffle_key(block, task.name))[position]

    def _named(self, name: str) -> Task:
        for task in self.tasks:
            if task.name == name:
                return task
        names = ", ".join(sorted(task.name for task in self.tasks))
        raise ValueError(f"options['task'] must be one of {names}, got {name!r}")


def _shuffle_key(block: int, name: str) -> bytes:
    return hashlib.sha256(f"{block} {name}".encode()).digest()
