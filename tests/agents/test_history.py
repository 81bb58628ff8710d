"""The history of an episode as a part of its observations."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wmrl_envs.agents.history import HistoryObservation
from wmrl_envs.spaces import UnicodeText


class Echo(gym.Env[dict[str, str], str]):
    """Answers each action in capitals; an episode has two turns."""

    observation_space = spaces.Dict(task=UnicodeText(9), feedback=UnicodeText(9))
    action_space = UnicodeText(9)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.turn = 0
        return {"task": "t", "feedback": ""}, {}

    def step(self, action: str) -> Any:
        self.turn += 1
        return {"task": "t", "feedback": action.upper()}, 0.0, self.turn == 2, False, {}


FIRST, BOTH = (("a", "A"),), (("a", "A"), ("b", "B"))


@pytest.mark.parametrize(
    ("mode", "seen"),
    [
        (AutoresetMode.NEXT_STEP, [FIRST, BOTH, (), (("d", "D"),)]),
        (AutoresetMode.SAME_STEP, [FIRST, (), (("c", "C"),), ()]),
    ],
)
def test_histories_begin_anew_with_each_episode(mode: AutoresetMode, seen: list[Any]) -> None:
    envs = HistoryObservation(SyncVectorEnv([Echo] * 2, autoreset_mode=mode))
    assert envs.reset(seed=0)[0]["history"] == ((), ())
    for action, expected in zip("abcd", seen, strict=True):
        observations = envs.step((action, action))[0]
        assert observations["history"] == (expected, expected)
        assert observations in envs.observation_space


def test_without_autoreset_a_finished_history_stands_until_its_own_reset(
    letter_env: Callable[..., Any],
) -> None:
    envs = HistoryObservation(letter_env(2, turns=lambda seed: seed))
    envs.reset(seed=[1, 2])
    envs.step(("a", "b"))
    observations = envs.step(("c", "d"))[0]
    assert observations["history"] == ((("a", "a"),), (("b", "b"), ("d", "d")))
    assert envs.reset(seed=[1, 2])[0]["history"] == ((), ())


def test_a_reset_of_some_rows_leaves_the_others_their_history() -> None:
    modes = AutoresetMode.DISABLED
    envs = HistoryObservation(SyncVectorEnv([Echo] * 2, autoreset_mode=modes))
    envs.reset(seed=0)
    envs.step(("a", "a"))
    mask = np.array([True, False])
    assert envs.reset(options={"reset_mask": mask})[0]["history"] == ((), (("a", "A"),))


def test_environments_without_text_are_refused() -> None:
    with pytest.raises(TypeError, match="text actions"):
        HistoryObservation(gym.make_vec("CartPole-v1", num_envs=1))
