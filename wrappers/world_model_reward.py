"""World-model rewards: a prediction in place of every reward that was not measured."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, SupportsFloat, cast

import gymnasium as gym
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs

from wmrl_envs import info as keys
from wmrl_envs.spaces import UnicodeText
from wmrl_envs.wrappers.anchor_sampling import AnchorSamplingWrapper
from wmrl_envs.wrappers.episodes import EpisodeRecorder, has_text_feedback
from wmrl_envs.wrappers.frames import draws_the_past
from wmrl_envs.wrappers.outcomes import predicted_outcome
from wmrl_envs.wrappers.predictions import (
    OnError,
    WorldModelLike,
    check_on_error,
    load_world_model,
    predict,
)
from wmrl_envs.wrappers.stack import check_order, find_wrapper
from wmrl_envs.wrappers.world_models.base import Prediction

__all__ = ["WorldModelRewardWrapper"]


class WorldModelRewardWrapper(
    gym.Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Replaces the reward of every unmeasured episode by a world model's prediction.

    The reward is the episode's: 0.0 before its last step, and there the measured reward if there is
    one, else the prediction, else 0.0 with ``graded=False``. Anchors are predicted too, which makes
    the pairs that the correction learns from. The last step's info gains ``predicted_reward``
    (unless the model has no opinion), ``reward_source`` and ``graded``.

    Without an :class:`AnchorSamplingWrapper` beneath, ``execute=False`` is handed down at every
    reset: nothing is measured, the world model alone gives the reward.

    In a multi-turn text environment (a Dict observation with text under ``feedback``) the model is
    asked after every turn of an episode that is not executed, and its ``Prediction.feedback``, if
    there is any, replaces the observation's.

    A vector version with one batched prediction a step exists:
    :class:`wmrl_envs.wrappers.vector.WorldModelRewardWrapper`.

    Args:
        env: The environment.
        world_model: An object with ``predict(episodes)``, a function of episodes, a class, or the
            ``"module:Name"`` of one of these, which survives the environment's JSON spec.
        world_model_kwargs: Arguments for the class.
        frames: How many rendered frames the model gets to see of each episode; needs
            ``render_mode="rgb_array"``. Where the environment has ``render_frames``, as LIBERO has,
            they are rendered when the model is asked, from every simulated moment.
        on_error: What becomes of a model that raises or answers wrongly: "raise" or "ungraded".

    Raises:
        TypeError: ``world_model`` is nothing that predicts.
        ValueError: ``frames`` is negative or there is nothing to render, ``on_error`` or the
            ``"module:Name"`` is unknown, or the wrappers are in the wrong order.
        WorldModelError: At a step, if the world model is at fault and ``on_error="raise"``.

    Example:
        >>> env = gym.make("CartPole-v1", max_episode_steps=2)
        >>> env = WorldModelRewardWrapper(env, lambda episodes: [0.5 for _ in episodes])
        >>> _ = env.reset(seed=0)
        >>> env.step(0)[1], env.step(1)[1]
        (0.0, 0.5)
    """

    def __init__(
        self,
        env: gym.Env[ObsType, ActType],
        world_model: WorldModelLike,
        world_model_kwargs: dict[str, Any] | None = None,
        frames: int = 0,
        on_error: OnError = "raise",
    ) -> None:
        check_order(env, "WorldModelRewardWrapper")
        check_frames(frames, env.render_mode)
        check_on_error(on_error)
        # A world model may hold gigabytes of weights, which a deep copy would double.
        RecordConstructorArgs.__init__(
            self,
            world_model=world_model,
            world_model_kwargs=world_model_kwargs,
            frames=frames,
            on_error=on_error,
            _disable_deepcopy=True,
        )
        gym.Wrapper.__init__(self, env)
        self.world_model = load_world_model(world_model, world_model_kwargs)
        self._frames, self._on_error = frames, on_error
        self._draws_late = frames > 0 and draws_the_past(env)
        self._samples_anchors = find_wrapper(env, AnchorSamplingWrapper) is not None
        self._gives_feedback = has_text_feedback(env.observation_space)
        self._recorder = EpisodeRecorder(None, 0)
        self._executed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts an episode."""
        if not self._samples_anchors:
            options = {**(options or {}), "execute": False}
        obs, info = self.env.reset(seed=seed, options=options)
        self._recorder = EpisodeRecorder(obs, 0 if self._draws_late else self._frames)
        self._recorder.frames.see(self.env.render)
        self._executed = bool(info.get(keys.ANCHOR, False))
        return obs, info

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment; at the episode's end asks the world model."""
        obs, _, terminated, truncated, info = self.env.step(action)
        reward, done = 0.0, terminated or truncated
        self._recorder.add(action)
        self._recorder.frames.see(self.env.render, final=done)
        if done:
            reward, info = predicted_outcome(info, self._predict().reward).applied(reward, info)
        elif self._gives_feedback and not self._executed:
            space = cast("gym.spaces.Dict", self.observation_space)["feedback"]
            obs = cast("ObsType", with_feedback(cast("Any", obs), self._predict(), space))
        return obs, reward, terminated, truncated, info

    def _predict(self) -> Prediction:
        episode = self._recorder.episode()
        if self._draws_late:
            episode = replace(episode, frames=self.get_wrapper_attr("render_frames")(self._frames))
        return predict(self.world_model, [episode], self._on_error)[0]


def with_feedback(
    observation: Mapping[str, Any], prediction: Prediction, space: gym.Space[Any]
) -> Mapping[str, Any]:
    """The observation with the world model's feedback in it, if the model gave any."""
    if not prediction.feedback:
        return observation
    return {**observation, "feedback": fitting(prediction.feedback, space)}


def fitting(feedback: str, space: gym.Space[Any]) -> str:
    """The end of the feedback that its space has room for: errors stand there."""
    return feedback[max(0, len(feedback) - cast("UnicodeText", space).max_length) :]


def check_frames(frames: int, render_mode: str | None) -> None:
    """Raises ValueError unless ``frames`` frames can be rendered."""
    if isinstance(frames, bool) or not isinstance(frames, int) or frames < 0:
        raise ValueError(f"frames must be a non-negative integer, got {frames!r}")
    if frames and render_mode != "rgb_array":
        raise ValueError(
            f'frames={frames} needs an environment with render_mode="rgb_array", got '
            f"{render_mode!r}"
        )
