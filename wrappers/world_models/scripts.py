"""From episodes to (task, script) questions and back: what graders of single scripts share."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.gate import compiling_scripts, never_compiles

__all__ = ["Question", "ScriptAnswers"]


class Question(NamedTuple):
    """One script that a compiler accepts, and the task that it should solve."""

    task: str
    code: str


class ScriptAnswers:
    """Answers episodes by asking about each of their scripts once.

    An episode is worth its best script, as AutoResearch rewards it; its feedback is that of its
    last action. Texts that never compile are 0.0 without asking. One script without an opinion
    leaves the whole episode without one, since that script may be the best. Answers are
    remembered, so that the turns of an episode, asked about again at its end, keep theirs.

    Args:
        ask: Takes N different questions and returns N predictions.
        remembered: How many answers are kept, the latest asked for; answers without an opinion are
            not kept.

    Raises:
        ValueError: ``remembered`` is negative.

    Example:
        >>> answers = ScriptAnswers(lambda asked: [Prediction(len(q.code) / 10) for q in asked])
        >>> [p.reward for p in answers.predict([Episode("", ("x = 1", "xy = 1"))])]
        [0.6]
    """

    def __init__(
        self, ask: Callable[[Sequence[Question]], Sequence[Prediction]], remembered: int = 4096
    ) -> None:
        if remembered < 0:
            raise ValueError(f"remembered must be at least 0, got {remembered!r}")
        self._ask = ask
        self._remembered = remembered
        self._known: OrderedDict[Question, Prediction] = OrderedDict()

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order.

        Raises:
            WorldModelError: ``ask`` returned another number of predictions.
        """
        asked = [_questions(episode) for episode in episodes]
        answers = self._answers([question for questions in asked for question in questions])
        return [
            _combined(episode, [answers[question] for question in questions])
            for episode, questions in zip(episodes, asked, strict=True)
        ]

    def forget(self) -> None:
        """Forgets all answers."""
        self._known.clear()

    def _answers(self, questions: Sequence[Question]) -> dict[Question, Prediction]:
        answers = {q: self._known[q] for q in dict.fromkeys(questions) if q in self._known}
        new = [q for q in dict.fromkeys(questions) if q not in answers]
        found = list(self._ask(new)) if new else []
        if len(found) != len(new):
            raise WorldModelError(f"{len(new)} scripts must get as many answers, got {len(found)}")
        answers |= zip(new, found, strict=True)
        self._remember(answers)
        return answers

    def _remember(self, answers: dict[Question, Prediction]) -> None:
        for question, answer in answers.items():
            if answer.reward is not None:
                self._known[question] = answer
                self._known.move_to_end(question)
        while len(self._known) > self._remembered:
            self._known.popitem(last=False)


def _questions(episode: Episode) -> list[Question]:
    # A fenced block ends with a line break, bare code may not: the same program.
    return [Question(episode.task, script.rstrip()) for script in compiling_scripts(episode)]


def _combined(episode: Episode, answers: Sequence[Prediction]) -> Prediction:
    if not answers:
        return Prediction(0.0 if never_compiles(episode) else None)
    rewards = [answer.reward for answer in answers if answer.reward is not None]
    best = max(rewards) if len(rewards) == len(answers) else None
    # Where the last action does not compile, the environment says so itself, and exactly.
    compiled = compiling_scripts(Episode(episode.task, episode.actions[-1:]))
    return Prediction(best, answers[-1].feedback if compiled else "")
