"""Experiment trackers: what they are told, and that they are asked for only if wanted."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from wmrl_envs.agents import GRPO, LanguageModelPolicy, TrackingCallback


class FakeTracker:
    """Remembers what a tracker's module was called with."""

    def __init__(self) -> None:
        self.opened: list[dict[str, Any]] = []
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.finished = 0

    def init(self, **options: Any) -> None:
        self.opened.append(options)

    def log(self, scalars: dict[str, float], step: int) -> None:
        self.logged.append((step, scalars))

    def finish(self) -> None:
        self.finished += 1


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_a_tracker_gets_each_step_and_the_settings(
    name: Any,
    make_policy: Callable[..., LanguageModelPolicy],
    letter_env: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeTracker()
    monkeypatch.setitem(sys.modules, name, fake)
    learner = GRPO(make_policy(), letter_env(8), group_size=4)
    learner.learn(2, TrackingCallback(name, "letters", "run-1", {"seed": 0}))
    (opened,) = fake.opened
    assert (opened["project"], opened["name"], opened["config"]) == (
        "letters",
        "run-1",
        {"seed": 0},
    )
    assert opened.get("id") == ("run-1" if name == "wandb" else None)
    assert [step for step, _ in fake.logged] == [1, 2] and fake.finished == 1
    assert fake.logged[-1][1] == learner.history[-1]
    assert "rollout/reward_mean" in fake.logged[0][1]


def test_a_tracker_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ImportError, match="pip install wandb"):
        TrackingCallback("wandb", "p", "n")
    with pytest.raises(ValueError, match=r"tracker must be one of .* got 'aim'"):
        TrackingCallback("aim", "p", "n")  # type: ignore[arg-type]


def test_a_training_that_never_started_closes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeTracker()
    monkeypatch.setitem(sys.modules, "trackio", fake)
    callback = TrackingCallback("trackio", "p", "n")
    callback.bind(SimpleNamespace(step=0))  # type: ignore[arg-type]
    callback.on_training_end()
    assert fake.finished == 0
