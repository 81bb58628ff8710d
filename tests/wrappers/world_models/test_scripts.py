"""Questions about single scripts, and episodes answered with them."""

from collections.abc import Sequence

import pytest

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models import Episode, Prediction
from wmrl_envs.wrappers.world_models.scripts import Question, ScriptAnswers


class Noting:
    """Answers with the length of a script, "unknown" with no opinion, and notes the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, questions: Sequence[Question]) -> list[Prediction]:
        self.asked += [question.code for question in questions]
        return [
            Prediction(None if "unknown" in q.code else float(len(q.code)), f"on {q.code}")
            for q in questions
        ]


def test_the_feedback_is_that_of_the_last_action_and_empty_if_it_does_not_compile() -> None:
    answers = ScriptAnswers(Noting())
    episodes = [Episode("", ("xyz = 1", "x = 1")), Episode("", ("xyz = 1", "x = = 1"))]
    assert answers.predict(episodes) == [Prediction(7.0, "on x = 1"), Prediction(7.0, "")]


def test_one_script_without_an_opinion_leaves_the_episode_without_one() -> None:
    answers = ScriptAnswers(Noting())
    [prediction] = answers.predict([Episode("", ("unknown = 1", "x = 1"))])
    assert prediction == Prediction(None, "on x = 1")


def test_answers_are_remembered_for_a_task_unless_they_are_no_opinion() -> None:
    ask = Noting()
    answers = ScriptAnswers(ask)
    for task in ("a", "a", "b"):
        answers.predict([Episode(task, ("x = 1",)), Episode(task, ("unknown = 1",))])
    assert ask.asked.count("x = 1") == 2 and ask.asked.count("unknown = 1") == 3
    answers.forget()
    answers.predict([Episode("a", ("x = 1",))])
    assert ask.asked.count("x = 1") == 3


@pytest.mark.parametrize("remembered", [0, 1])
def test_no_more_answers_are_kept_than_stated(remembered: int) -> None:
    ask = Noting()
    answers = ScriptAnswers(ask, remembered=remembered)
    for code in ("x = 1", "y = 1", "y = 1", "x = 1"):
        answers.predict([Episode("", (code,))])
    assert len(ask.asked) == 4 - remembered


def test_the_wrong_number_of_answers_is_an_error() -> None:
    with pytest.raises(WorldModelError, match="1 scripts must get as many answers, got 0"):
        ScriptAnswers(lambda questions: []).predict([Episode("", ("x = 1",))])
    with pytest.raises(ValueError, match="remembered must be at least 0, got -1"):
        ScriptAnswers(Noting(), remembered=-1)


def test_episodes_without_texts_are_no_opinion() -> None:
    found = ScriptAnswers(Noting()).predict([Episode("", ()), Episode("", (3,))])
    assert found == [Prediction(None), Prediction(None)]
