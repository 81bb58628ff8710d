"""The cache: equal episodes are asked about once, others never share an answer."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models import CachedWorldModel, Episode, Prediction
from wmrl_envs.wrappers.world_models.content import episode_digest


@dataclass
class Counting:
    """Answers a task's length, no opinion on "none"; remembers what it was asked."""

    asked: list[str] = field(default_factory=list)

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        self.asked.extend(episode.task for episode in episodes)
        return [Prediction(None if e.task == "none" else float(len(e.task))) for e in episodes]


def about(*tasks: str) -> list[Episode]:
    return [Episode(task, ()) for task in tasks]


def rewards(model: CachedWorldModel, *tasks: str) -> list[float | None]:
    return [prediction.reward for prediction in model.predict(about(*tasks))]


@given(st.lists(st.lists(st.sampled_from(["", "a", "bb", "ccc", "none"]), max_size=6), max_size=5))
def test_a_cached_model_answers_as_the_model_itself(batches: list[list[str]]) -> None:
    inner = Counting()
    model = CachedWorldModel(inner, capacity=2)
    for tasks in batches:
        assert rewards(model, *tasks) == [p.reward for p in Counting().predict(about(*tasks))]
        assert len(model) <= 2
    assert model.hits + model.misses == sum(map(len, batches))
    assert model.misses == len(inner.asked)


def test_what_is_known_is_not_asked_again() -> None:
    inner = Counting()
    model = CachedWorldModel(inner)
    assert rewards(model, "bb", "a", "bb") == [2.0, 1.0, 2.0]
    assert rewards(model, "a", "ccc", "bb") == [1.0, 3.0, 2.0]
    assert inner.asked == ["bb", "a", "ccc"]
    assert (model.hits, model.misses, model.hit_rate) == (3, 3, 0.5)


def test_what_was_not_used_for_longest_is_forgotten_first() -> None:
    inner = Counting()
    model = CachedWorldModel(inner, capacity=2)
    for task in ("a", "bb", "a", "ccc", "a", "bb"):
        rewards(model, task)
    assert inner.asked == ["a", "bb", "ccc", "bb"]


@pytest.mark.parametrize(("keep_none", "asked"), [(False, 2), (True, 1)])
def test_no_opinion_is_kept_on_request(keep_none: bool, asked: int) -> None:
    inner = Counting()
    model = CachedWorldModel(inner, keep_none=keep_none)
    assert rewards(model, "none") == rewards(model, "none") == [None]
    assert len(inner.asked) == asked


def test_a_cleared_cache_asks_again() -> None:
    inner = Counting()
    model = CachedWorldModel(inner)
    rewards(model, "a")
    model.clear()
    rewards(model, "a")
    assert inner.asked == ["a", "a"] and model.hit_rate == 0.0


def test_a_failure_leaves_nothing_behind() -> None:
    model = CachedWorldModel(lambda episodes: [])
    with pytest.raises(WorldModelError, match="must return 1 predictions"):
        rewards(model, "a")
    assert (len(model), model.misses) == (0, 0)


def frames(value: int) -> np.ndarray:
    return np.full((2, 2, 2, 3), value, np.uint8)


DIFFERENT: list[Episode] = [
    Episode("t", ("x",)),
    Episode("u", ("x",)),
    Episode("t", ("y",)),
    Episode("t", ("x", "")),
    Episode("t", ("", "x")),
    Episode("t", ()),
    Episode("t", (1,)),
    Episode("t", (1.0,)),
    Episode("t", (True,)),
    Episode("t", ("1",)),
    Episode("t", (b"1",)),
    Episode("t", (None,)),
    Episode("t", ("x",), {"place": np.zeros(2, np.float32)}),
    Episode("t", ("x",), {"place": np.zeros(2, np.float64)}),
    Episode("t", ("x",), {"place": np.zeros((2, 1), np.float64)}),
    Episode("t", ("x",), {"other": np.zeros(2, np.float64)}),
    Episode("t", ("x",), frames=frames(0)),
    Episode("t", ("x",), frames=frames(1)),
    Episode("t", (np.array(["a", None], dtype=object),)),
]


def test_different_episodes_have_different_digests() -> None:
    assert len({episode_digest(episode) for episode in DIFFERENT}) == len(DIFFERENT)


def test_arrays_are_known_by_their_content() -> None:
    def episode(array: np.ndarray) -> Episode:
        return Episode("t", (array,), frames=frames(3))

    whole = np.arange(12.0).reshape(3, 4)
    assert episode_digest(episode(whole.T.copy().T)) == episode_digest(episode(whole))


def test_a_digest_is_the_same_in_every_process() -> None:
    program = (
        "from wmrl_envs.wrappers.world_models import Episode\n"
        "from wmrl_envs.wrappers.world_models.content import episode_digest\n"
        "print(episode_digest(Episode('t', ('x', 1, None), {'a': 0.1})).hex())"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == episode_digest(Episode("t", ("x", 1, None), {"a": 0.1})).hex()


@pytest.mark.parametrize("content", [object(), {1, 2}])
def test_what_has_no_digest_is_named(content: Any) -> None:
    with pytest.raises(TypeError, match=f"got a {type(content).__name__}"):
        CachedWorldModel(Counting()).predict([Episode("t", (content,))])


def test_a_cache_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity must be at least 1, got 0"):
        CachedWorldModel(Counting(), capacity=0)
