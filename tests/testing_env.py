"""One small environment whose every habit can be chosen, for the tests of wrappers and agents."""

from typing import Any

import gymnasium as gym
import numpy as np

from wmrl_envs.spaces import UnicodeText
from wmrl_envs.wrappers import Prediction

OBSERVATIONS = ("box", "dict", "text")


class GenericTestEnv(gym.Env[Any, Any]):
    """Episodes of a random length from the reset seed; rewards from the seed and the actions.

    A step's reward is uniform in [0, 1] plus half the action, or its length where it is text.

    Args:
        observation: "box" (2,), "dict" of a box and an integer, or "text" as AutoResearch gives it,
            with text actions.
        max_length: The longest episode; lengths are uniform from 1.
        reports: Write ``measured_reward`` (ten times the return) at the end of episodes that may
            be executed, as an environment with an expensive reward does.
        failing: Reset seeds whose reward cannot be had: ``graded=False``.
        render_mode: None or "rgb_array" (frames filled with the step's number).

    Attributes:
        resets: The (seed, options) of every reset so far.
        renders: How often ``render`` was called.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        observation: str = "box",
        max_length: int = 4,
        reports: bool = False,
        failing: tuple[int, ...] = (),
        render_mode: str | None = None,
    ) -> None:
        self._kind, self._max_length, self._reports = observation, max_length, reports
        self._failing, self.render_mode = failing, render_mode
        self.observation_space, self.action_space = _spaces(observation)
        self.resets: list[tuple[int | None, dict[str, Any] | None]] = []
        self.renders = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.resets.append((seed, options))
        self._executes = may_execute(options, seed)
        self._fails = seed in self._failing
        self._length = int(self.np_random.integers(1, self._max_length + 1))
        self._steps, self._return = 0, 0.0
        return self._observe(""), {}

    def step(self, action: Any) -> Any:
        self._steps += 1
        effort = len(action) if isinstance(action, str) else float(np.sum(action)) / 2
        reward = float(self.np_random.random()) + effort
        self._return += reward
        done, info = self._steps >= self._length, {}
        if done and self._fails:
            info["graded"] = False
        elif done and self._reports and self._executes:
            info |= {"graded": True, "measured_reward": 10 * self._return}
        return self._observe(f"ran {action}"), reward, done, False, info

    def render(self) -> Any:
        self.renders += 1
        return np.full((2, 2, 3), self._steps % 256, dtype=np.uint8)

    def _observe(self, feedback: str) -> Any:
        box = self.np_random.random(2).astype(np.float32)
        if self._kind == "box":
            return box
        if self._kind == "dict":
            return {"place": box, "steps": self._steps}
        return {"task": f"task {self._length}", "feedback": feedback, "turn": self._steps}


def may_execute(options: dict[str, Any] | None, seed: int | None) -> bool:
    """What an environment with an expensive reward makes of ``options["execute"]``."""
    execute = (options or {}).get("execute", True)
    return execute if isinstance(execute, bool) else seed in execute


def _spaces(kind: str) -> tuple[gym.Space[Any], gym.Space[Any]]:
    box = gym.spaces.Box(0.0, 1.0, (2,), np.float32)
    if kind == "box":
        return box, gym.spaces.Discrete(2)
    if kind == "dict":
        spaces = {"place": box, "steps": gym.spaces.Discrete(100)}
        return gym.spaces.Dict(spaces), gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    text = UnicodeText(100)
    turn = gym.spaces.Discrete(100)
    return gym.spaces.Dict({"task": text, "feedback": text, "turn": turn}), text


def play(env: gym.Env[Any, Any], **reset: Any) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    """Plays one episode with fixed random actions.

    Returns:
        The info of ``reset(**reset)``, the rewards, and the info of the last step.
    """
    env.action_space.seed(0)
    _, first = env.reset(**reset)
    rewards, done, info = [], False, {}
    while not done:
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        rewards.append(reward)
        done = terminated or truncated
    return first, rewards, info


class LengthWorldModel:
    """Predicts ``scale`` times the number of actions; feedback names the turn.

    Attributes:
        calls: The number of episodes of each call.
    """

    def __init__(self, scale: float = 0.5) -> None:
        self.scale = scale
        self.calls: list[int] = []
        self.episodes: list[Any] = []

    def predict(self, episodes: Any) -> Any:
        self.calls.append(len(episodes))
        self.episodes.extend(episodes)
        turns = [len(episode.actions) for episode in episodes]
        return [Prediction(self.scale * turn, f"imagined turn {turn}") for turn in turns]
