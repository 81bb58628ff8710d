"""Callbacks, evaluation while training, interruption."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wmrl_envs.agents import (
    GRPO,
    BaseCallback,
    CheckpointCallback,
    EvalCallback,
    LanguageModelPolicy,
)

MakePolicy = Callable[..., LanguageModelPolicy]


class Recorder(BaseCallback):
    """Writes down what it is told."""

    def __init__(self, stop_at: int = 10**9) -> None:
        self.heard: list[str] = []
        self.stop_at = stop_at

    def on_training_start(self) -> None:
        """Notes the start."""
        self.heard.append(f"start {self.model.step}")

    def on_rollout_end(self, rollout: Any) -> None:
        """Notes the rollout."""
        self.heard.append(f"rollout {len(rollout)}")

    def on_step(self) -> bool:
        """Notes the step, and stops at some."""
        self.heard.append(f"step {self.model.step}")
        return self.model.step < self.stop_at

    def on_training_end(self) -> None:
        """Notes the end."""
        self.heard.append("end")


def test_hooks_run_in_order_and_false_stops(make_policy: MakePolicy, letter_env: Any) -> None:
    recorder = Recorder(stop_at=2)
    model = GRPO(make_policy(), letter_env(8)).learn(5, recorder)
    assert recorder.heard == ["start 0", "rollout 8", "step 1", "rollout 8", "step 2", "end"]
    assert model.step == 2


def test_a_function_is_a_callback(make_policy: MakePolicy, letter_env: Any) -> None:
    assert GRPO(make_policy(), letter_env(8)).learn(5, lambda model: model.step < 3).step == 3


def test_what_is_no_callback_is_named(make_policy: MakePolicy, letter_env: Any) -> None:
    with pytest.raises(TypeError, match="callback must be a BaseCallback"):
        GRPO(make_policy(), letter_env(8)).learn(1, 5)  # type: ignore[arg-type]


def test_learn_goes_on_to_an_absolute_step(make_policy: MakePolicy, letter_env: Any) -> None:
    model = GRPO(make_policy(), letter_env(8)).learn(2)
    assert model.learn(3).step == 3
    assert [row["step"] for row in model.history] == [1, 2, 3]


def test_checkpoints_of_each_step_can_be_kept(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    callback = CheckpointCallback(tmp_path / "at-{step}.pt", every=2)
    GRPO(make_policy(), letter_env(8)).learn(3, callback)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["at-2.pt", "at-3.pt"]


def test_evaluation_while_training_is_logged_and_disturbs_nothing(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    plain = GRPO(make_policy(), letter_env(8), learning_rate=1e-2).learn(3)
    watched = GRPO(make_policy(), letter_env(8), learning_rate=1e-2)
    watched.learn(3, eval_envs=letter_env(4), eval_every=2, eval_episodes=8)
    evaluated = {row["step"] for row in watched.history if "eval/reward_mean" in row}
    assert evaluated == {0, 2, 3}
    rewards = [
        [row["rollout/reward_mean"] for row in model.history if row["step"]]
        for model in (plain, watched)
    ]
    assert rewards[0] == rewards[1]


def test_the_eval_callback_keeps_every_evaluation(make_policy: MakePolicy, letter_env: Any) -> None:
    callback = EvalCallback(letter_env(4), every=1, episodes=4, first_seed=100)
    GRPO(make_policy(), letter_env(8)).learn(1, callback)
    assert [step for step, _ in callback.evaluations] == [0, 1]
    assert callback.evaluations[0][1].seeds.tolist() == [100, 101, 102, 103]


def test_the_progress_bar_shows_and_goes(
    make_policy: MakePolicy, letter_env: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    GRPO(make_policy(), letter_env(8)).learn(2, progress_bar=True)
    assert "2/2" in capsys.readouterr().out


class Broken(BaseCallback):
    """Fails at the start and at the end."""

    def on_training_start(self) -> None:
        """Stands for Ctrl-C in the evaluation before the first step."""
        raise KeyboardInterrupt

    def on_training_end(self) -> None:
        """Stands for a full disk."""
        raise OSError("no space left")


def test_an_interrupt_before_the_first_step_passes_through_the_progress_bar(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    class Interrupted(Broken):
        def on_training_end(self) -> None:
            pass

    with pytest.raises(KeyboardInterrupt):
        GRPO(make_policy(), letter_env(8)).learn(1, Interrupted(), progress_bar=True)


def test_every_callback_hears_of_the_end_even_after_one_that_failed(
    make_policy: MakePolicy, letter_env: Any
) -> None:
    recorder = Recorder()
    with pytest.raises(OSError, match="no space left"):
        GRPO(make_policy(), letter_env(8)).learn(1, [Broken(), recorder])
    assert recorder.heard == ["end"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Background jobs of a shell inherit that SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_passes_through_and_leaves_a_checkpoint_of_the_last_whole_step(
    make_policy: MakePolicy, letter_env: Any, tmp_path: Path
) -> None:
    class Interrupt(Recorder):
        def on_rollout_end(self, rollout: Any) -> None:
            """Sends this process the signal of Ctrl-C."""
            if self.model.step == 2:
                os.kill(os.getpid(), signal.SIGINT)

    recorder, path = Interrupt(), tmp_path / "model.pt"
    model = GRPO(make_policy(), letter_env(8), tensorboard_log=tmp_path / "board")
    with pytest.raises(KeyboardInterrupt):
        model.learn(5, [recorder, CheckpointCallback(path, every=100)])
    assert recorder.heard[-1] == "end"
    resumed = GRPO.load(path, policy=make_policy(), envs=letter_env(8)).learn(4)
    whole = GRPO(make_policy(), letter_env(8)).learn(4)
    rewards = [[row["rollout/reward_mean"] for row in m.history] for m in (resumed, whole)]
    assert rewards[0] == rewards[1]


@pytest.mark.parametrize(("every", "episodes"), [(0, 1), (1, 0)])
def test_bad_numbers_are_named(letter_env: Any, every: int, episodes: int) -> None:
    with pytest.raises(ValueError, match=r"must be >= 1, got 0"):
        EvalCallback(letter_env(4), every=every, episodes=episodes)
    with pytest.raises(ValueError, match=r"every must be >= 1, got -1"):
        CheckpointCallback("x", every=-1)
