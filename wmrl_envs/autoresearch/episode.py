"""One episode, without Gymnasium around it: propose an action, advance by its outcome."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from wmrl_envs import info as keys
from wmrl_envs.autoresearch.feedback import feedback_text, transcript
from wmrl_envs.autoresearch.grading import (
    Grade,
    GradeStatus,
    compiles,
    extract_code,
    ladder_reward,
)
from wmrl_envs.autoresearch.outcome import Outcome, Submission
from wmrl_envs.autoresearch.rules import MAX_ACTION, Rules
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.resets import may_execute

__all__ = ["Episode", "Observation", "Transition", "begin"]

Observation = dict[str, Any]
Transition = tuple[Observation, float, bool, bool, dict[str, Any]]

_SEEDS = 2**31


class Episode:
    """The state of one episode.

    An environment calls :meth:`propose`, has the proposal executed, perhaps together with those of
    other episodes, and calls :meth:`advance` with the outcome.

    Args:
        rules: The environment's rules.
        task: The episode's task.
        execute: May its programs be executed?
    """

    def __init__(self, rules: Rules, task: Task, execute: bool) -> None:
        self.task = task
        self._rules = rules
        self._execute = execute
        self._text = rules.task_text(task)
        self._turns: list[tuple[str, str]] = []
        self._best: Grade | None = None
        self._ungraded_turns = 0

    @property
    def over(self) -> bool:
        """True after the last turn."""
        return len(self._turns) == self._rules.max_turns

    def observation(self) -> Observation:
        """What the agent sees now."""
        feedback = self._turns[-1][1] if self._turns else ""
        return {"task": self._text, "feedback": feedback, "turn": len(self._turns)}

    def propose(self, action: Any) -> Submission | Outcome:
        """Reads an action; changes nothing.

        Args:
            action: An answer that holds a fenced Python block, or bare code.

        Returns:
            The program to execute, or the outcome where none needs to be or may be executed.

        Raises:
            TypeError: The action is no string.
        """
        if not isinstance(action, str):
            raise TypeError(
                f"an action must be a str, got {action!r} of type {type(action).__name__}"
            )
        if len(action) > MAX_ACTION:
            message = f"the answer is longer than {MAX_ACTION} characters"
            return Outcome.unexecuted(GradeStatus.MALFORMED, message)
        code = extract_code(action)
        if code is None:
            return Outcome.unexecuted(GradeStatus.MALFORMED, "the answer holds no Python code")
        complaint = compiles(code)
        if complaint is not None:
            return Outcome.unexecuted(GradeStatus.SYNTAX_ERROR, complaint)
        if not self._execute:
            return Outcome.ungraded("not executed")
        return Submission(self.task, code)

    def advance(self, action: str, outcome: Outcome) -> Transition:
        """Ends a turn.

        Args:
            action: The turn's action.
            outcome: What became of it.

        Returns:
            What ``gymnasium.Env.step`` returns.
        """
        self._turns.append((action, self._feedback(outcome)))
        self._count(outcome.grade)
        reward, info = self._pay()
        if self._best is not None and not self._ungraded_turns:
            info[keys.GRADE_STATUS] = self._best.status.value
        return self.observation(), reward, self.over, False, info

    def render(self) -> str:
        """The episode so far, as text."""
        return transcript(self._text, self._turns, self._ending())

    def _feedback(self, outcome: Outcome) -> str:
        turn = len(self._turns) + 1
        return feedback_text(outcome, turn, self._rules.max_turns, self._rules.feedback)

    def _ending(self) -> str:
        if not self.over:
            return f"--- turn {len(self._turns)} of {self._rules.max_turns} ---"
        reward = self._reward()
        return (
            "--- over, not graded ---" if reward is None else f"--- over, reward {reward:.4g} ---"
        )

    def _count(self, grade: Grade | None) -> None:
        if grade is None:
            self._ungraded_turns += 1
        elif self._best is None or ladder_reward(grade) > ladder_reward(self._best):
            self._best = grade

    def _pay(self) -> tuple[float, dict[str, Any]]:
        reward = self._reward() if self.over else None
        if reward is None:
            return 0.0, {keys.GRADED: False}
        return reward, {keys.GRADED: True, keys.MEASURED_REWARD: reward}

    def _reward(self) -> float | None:
        if self._best is None or self._ungraded_turns:
            return None
        return self._rules.pays(self._best)


def begin(
    rules: Rules,
    np_random: np.random.Generator,
    seed: int | None,
    options: Mapping[str, Any] | None,
) -> Episode:
    """Starts an episode from the arguments of ``reset``.

    Args:
        rules: The environment's rules.
        np_random: Draws the episode's seed where ``seed`` is None.
        seed: The reset seed.
        options: The reset options ``task`` and ``execute``; others are ignored.

    Raises:
        TypeError: The options, or one of them, have the wrong type.
        ValueError: ``options["task"]`` is unknown.
    """
    if not isinstance(options, Mapping | None):
        raise TypeError(f"options must be a dict or None, got {options!r}")
    options = options or {}
    episode_seed = int(np_random.integers(_SEEDS)) if seed is None else seed
    task = rules.choose_task(episode_seed, options.get("task"))
    return Episode(rules, task, may_execute(options, seed))
