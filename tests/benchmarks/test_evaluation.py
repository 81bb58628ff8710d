"""Evaluation during training: what is measured, what is predicted, what is left out."""

from collections.abc import Sequence

import numpy as np
import pytest
from testing_runs import DeadSandbox, InstantSandbox, tiny

from wmrl_envs.agents.policies.language_model import LanguageModelPolicy
from wmrl_envs.benchmarks.autoresearch.evaluation import Evaluator
from wmrl_envs.benchmarks.autoresearch.setup import make_policy
from wmrl_envs.errors import SandboxError
from wmrl_envs.wrappers.estimators.correction import Correction
from wmrl_envs.wrappers.world_models import CallableWorldModel, Episode, Prediction

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def policy() -> LanguageModelPolicy:
    return make_policy(tiny())


class Noting:
    """Predicts 0.5 for the first episode, has no opinion on the others."""

    def __init__(self) -> None:
        self.asked: list[Episode] = []

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        self.asked += episodes
        return [Prediction(0.5 if i == 0 else None) for i in range(len(episodes))]


def test_an_episode_is_recorded_with_its_tasks_name_reward_and_program(
    policy: LanguageModelPolicy,
) -> None:
    sandbox = InstantSandbox()
    found = Evaluator(tiny(), sandbox)(policy, 4, None, None)  # type: ignore[arg-type]
    assert {e["task"] for e in found["train"]} == {"digits", "diabetes"}
    assert {e["task"] for e in found["test"]} == {"olive-area"}
    for episode in [*found["train"], *found["test"]]:
        assert set(episode) == {"task", "reward", "position", "status", "code"}
        assert episode["position"] == pytest.approx(max(0.0, 2 * episode["reward"] - 1))
        assert type(episode["reward"]) is float and type(episode["status"]) is str


def test_every_evaluation_meets_the_same_episodes(policy: LanguageModelPolicy) -> None:
    evaluator = Evaluator(tiny(), InstantSandbox())  # type: ignore[arg-type]
    assert evaluator(policy, 4, None, None) == evaluator(policy, 4, None, None)


def test_predictions_and_corrections_stand_beside_what_was_measured(
    policy: LanguageModelPolicy,
) -> None:
    correction, model = Correction("paper", debias=True), Noting()
    correction.seed_pairs(np.full(50, 0.5), np.full(50, 0.2))
    found = Evaluator(tiny(), InstantSandbox())(policy, 4, model, correction)  # type: ignore[arg-type]
    for split in ("train", "test"):
        first, *others = found[split]
        assert first["predicted"] == 0.5
        assert first["corrected"] == pytest.approx(0.2, abs=0.05)
        assert not any("predicted" in e or "corrected" in e for e in others)
    assert [e.actions[0] for e in model.asked[:4]] == [e["code"] for e in found["train"]]


def test_ungraded_episodes_are_left_out_and_not_asked_about(policy: LanguageModelPolicy) -> None:
    class FirstFails(InstantSandbox):
        """Fails on the first program of every batch."""

        def run_many(self, jobs, *, on_error="raise"):  # type: ignore[no-untyped-def]
            for number, execution in enumerate(super().run_many(jobs)):
                yield SandboxError("died") if number == 0 else execution

    model = Noting()
    found = Evaluator(tiny(), FirstFails())(policy, 4, model, None)  # type: ignore[arg-type]
    assert 0 < len(found["train"]) < 4 and 0 < len(found["test"]) < 4
    assert len(model.asked) == len(found["train"]) + len(found["test"])


def test_a_dead_sandbox_leaves_nothing_but_what_needs_no_execution(
    policy: LanguageModelPolicy,
) -> None:
    def refuse(episodes: Sequence[Episode]) -> list[float]:
        assert episodes, "nobody asks about nothing"
        return [0.0 for _ in episodes]

    evaluator = Evaluator(tiny(), DeadSandbox())  # type: ignore[arg-type]
    found = evaluator(policy, 4, CallableWorldModel(refuse), None)
    assert all(e["status"] in ("malformed", "syntax_error") for e in found["train"])
