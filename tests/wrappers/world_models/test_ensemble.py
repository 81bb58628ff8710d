"""The ensemble: the mean of those that have an opinion, and their spread."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.predictions import predict
from wmrl_envs.wrappers.world_models import EnsembleWorldModel, Episode, Prediction

EPISODE = Episode("t", ("x = 1",))
opinions = st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=6)


def saying(*answers: float | Prediction | None) -> Callable[[Sequence[Episode]], list[Any]]:
    """A world model that says this of the first, second, … episode."""
    return lambda episodes: list(answers[: len(episodes)])


@given(opinions)
def test_it_is_the_mean_and_the_spread_of_those_with_an_opinion(answers: list[Any]) -> None:
    (found,) = EnsembleWorldModel([saying(answer) for answer in answers]).predict([EPISODE])
    known = [answer for answer in answers if answer is not None]
    assert found.reward == (pytest.approx(np.mean(known)) if known else None)
    spread = pytest.approx(np.std(known, ddof=1)) if len(known) > 1 else None
    assert found.std == spread


def test_each_episode_has_its_own_quorum() -> None:
    members = [saying(0.2, None), saying(0.4, 0.8), saying(0.6, None)]
    first, second = EnsembleWorldModel(members, quorum=2).predict([EPISODE] * 2)
    assert first.reward == pytest.approx(0.4) and first.std == pytest.approx(0.2)
    assert second == Prediction(None)


def test_feedback_is_the_first_that_there_is() -> None:
    members = [saying(Prediction(0.5)), saying(Prediction(None, "one")), saying(Prediction(1, "2"))]
    assert EnsembleWorldModel(members).predict([EPISODE])[0].feedback == "one"


def test_the_spread_reaches_whoever_asks_through_the_wrappers_checks() -> None:
    model = EnsembleWorldModel([saying(0.0), saying(1.0)])
    assert predict(model, [EPISODE])[0].std == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("std", [-0.1, float("nan"), "much", True])
def test_a_spread_that_is_none_is_the_models_fault(std: Any) -> None:
    faulty = EnsembleWorldModel([saying(0.5)])
    faulty.predict = lambda episodes: [Prediction(0.5, std=std)]  # type: ignore[method-assign]
    with pytest.raises(WorldModelError, match="std"):
        predict(faulty, [EPISODE])


def test_members_of_few_words_are_named() -> None:
    with pytest.raises(WorldModelError, match="must return 2 predictions, one an episode, got 1"):
        EnsembleWorldModel([saying(0.5)]).predict([EPISODE] * 2)


@pytest.mark.parametrize(
    ("members", "quorum", "error", "message"),
    [
        ([], 1, ValueError, "at least one world model, got none"),
        ([saying(0.5)], 2, ValueError, "quorum must lie between 1 and the 1 members, got 2"),
        ([saying(0.5)], 0, ValueError, "got 0"),
        ([0.5], 1, TypeError, "got 0.5"),
        ([EnsembleWorldModel], 1, TypeError, "function of episodes, got <class"),
    ],
)
def test_impossible_ensembles_are_refused(
    members: list[Any], quorum: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        EnsembleWorldModel(members, quorum)
