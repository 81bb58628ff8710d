"""The compile gate: 0.0 only where a compiler is certain."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.autoresearch.grading import compiles, extract_code
from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models import CallableWorldModel, CompileGate, Episode, Prediction

BROKEN, SOUND, NO_CODE = "x = = 1", "x = 1", "I would rather not."


class Noting:
    """Answers 0.5 and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Episode] = []

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        self.asked += episodes
        return [Prediction(0.5, "seen") for _ in episodes]


@pytest.mark.parametrize(
    ("actions", "reward"),
    [
        ((SOUND,), 0.5),
        ((BROKEN,), 0.0),
        ((NO_CODE,), 0.0),
        ((BROKEN, NO_CODE), 0.0),
        ((BROKEN, SOUND, NO_CODE), 0.5),
        (("```python\nx = 1\n```",), 0.5),
        ((), 0.5),
        ((np.zeros(3),), 0.5),
        ((BROKEN, np.zeros(3)), 0.5),
        ((7,), 0.5),
    ],
)
def test_zero_is_the_answer_where_all_actions_are_texts_that_never_compile(
    actions: tuple[object, ...], reward: float
) -> None:
    assert CompileGate(Noting()).predict([Episode("", actions)])[0].reward == reward


def test_the_world_model_is_asked_about_the_rest_in_order() -> None:
    model = Noting()
    answers = CompileGate(model).predict([Episode(t, (t,)) for t in (BROKEN, SOUND, "y = 2")])
    assert [episode.task for episode in model.asked] == [SOUND, "y = 2"]
    assert answers == [Prediction(0.0), Prediction(0.5, "seen"), Prediction(0.5, "seen")]


def test_the_world_model_is_not_asked_about_nothing() -> None:
    model = Noting()
    assert CompileGate(model).predict([Episode("", (BROKEN,))]) == [Prediction(0.0)]
    assert CompileGate(model).predict([]) == [] and model.asked == []


@given(st.text())
def test_the_gate_answers_zero_for_just_what_grading_pays_zero(text: str) -> None:
    answer = CompileGate(Noting()).predict([Episode("", (text,))])[0]
    script = extract_code(text)
    paid_zero = script is None or compiles(script) is not None
    assert answer.reward == (0.0 if paid_zero else 0.5)


def test_no_opinion_passes_through() -> None:
    gate = CompileGate(CallableWorldModel(lambda episodes: [None for _ in episodes]))
    assert gate.predict([Episode("", (SOUND,))]) == [Prediction(None)]


@pytest.mark.parametrize("count", [0, 2])
def test_a_wrong_number_of_answers_is_the_world_models_fault(count: int) -> None:
    gate = CompileGate(CallableWorldModel(lambda episodes: [0.5] * count))
    with pytest.raises(WorldModelError, match=f"must return 1 predictions.* got {count}"):
        gate.predict([Episode("", (SOUND,))])


def test_what_does_not_predict_is_refused() -> None:
    with pytest.raises(TypeError, match="world_model must have predict"):
        CompileGate(len)  # type: ignore[arg-type]
