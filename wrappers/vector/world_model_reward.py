"""World-model rewards for vector environments: one batched prediction a step."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import iterate

from wmrl_envs import info as keys
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
from wmrl_envs.wrappers.stack import check_order
from wmrl_envs.wrappers.vector.rows import (
    EpisodeClock,
    Phase,
    apply_outcomes,
    own_infos,
    places,
    read_row,
    reset_mask,
)
from wmrl_envs.wrappers.vector.stack import samples_anchors
from wmrl_envs.wrappers.world_model_reward import check_frames, fitting
from wmrl_envs.wrappers.world_models.base import Prediction

__all__ = ["WorldModelRewardWrapper"]


class WorldModelRewardWrapper(
    VectorWrapper[ObsType, ActType, ObsType, ActType, np.ndarray], RecordConstructorArgs
):
    """Replaces the rewards of unmeasured episodes by a world model's predictions: vector version.

    It equals a vector environment of single :class:`wmrl_envs.wrappers.WorldModelRewardWrapper`,
    but asks the model once a step, for all episodes that end (and, in multi-turn text environments,
    for all unexecuted episodes that go on). Without anchor sampling beneath, what an autoreset
    episode measured is dropped, because autoresets carry no ``execute=False``.

    Args:
        env: The vector environment.
        world_model: An object with ``predict(episodes)``, a function of episodes, a class, or the
            ``"module:Name"`` of one of these.
        world_model_kwargs: Arguments for the class.
        frames: How many rendered frames the model gets to see of each episode; needs
            ``render_mode="rgb_array"`` and an autoreset mode other than SAME_STEP, which leaves
            nothing of an episode's last frame. Where the vector environment has ``render_frames``,
            as LIBERO's own has, they are rendered when the model is asked, from every simulated
            moment.
        on_error: What becomes of a model that raises or answers wrongly: "raise" or "ungraded".

    Raises:
        TypeError: ``world_model`` is nothing that predicts.
        ValueError: ``frames`` is negative or cannot be had, ``on_error`` or the ``"module:Name"``
            is unknown, or the wrappers are in the wrong order.
        WorldModelError: At a step, if the world model is at fault and ``on_error="raise"``.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make_vec("CartPole-v1", 2, "sync", max_episode_steps=2)
        >>> env = WorldModelRewardWrapper(env, lambda episodes: [0.5 for _ in episodes])
        >>> _ = env.reset(seed=0)
        >>> env.step(np.array([0, 1]))[1], env.step(np.array([0, 1]))[1]
        (array([0., 0.]), array([0.5, 0.5]))
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, np.ndarray],
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
        VectorWrapper.__init__(self, env)
        self.world_model = load_world_model(world_model, world_model_kwargs)
        self._frames, self._on_error = frames, on_error
        self._draws_late = frames > 0 and draws_the_past(env)
        self._clock = EpisodeClock(env)
        if frames and self._clock.mode == AutoresetMode.SAME_STEP:
            raise ValueError(f"frames={frames} needs an autoreset mode other than SAME_STEP")
        self._samples_anchors = samples_anchors(env)
        self._gives_feedback = has_text_feedback(env.single_observation_space)
        self._recorders = [EpisodeRecorder(None, 0) for _ in range(self.num_envs)]
        self._executed = np.zeros(self.num_envs, dtype=bool)
        # An autoreset cannot be told not to execute.
        self._autoreset = np.zeros(self.num_envs, dtype=bool)
        self._imagined: dict[int, str] = {}

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Starts episodes."""
        mask = reset_mask(options, self.num_envs)
        if not self._samples_anchors:
            options = {**(options or {}), "execute": False}
        obs, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._clock.reset(mask)
        self._autoreset[mask] = False
        self._begin(places(mask), obs, infos)
        self._imagined = {i: text for i, text in self._imagined.items() if not mask[i]}
        return _with_feedback(obs, self._imagined), infos

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the environments; asks the world model about the episodes that end."""
        taken = list(iterate(self.action_space, actions))
        obs, _, terminations, truncations, infos = self.env.step(actions)
        phase, infos = self._clock.step(terminations, truncations), own_infos(infos)
        self._record(taken, phase)
        predictions = self._predict(phase)
        rewards, last = np.zeros(self.num_envs), self._clock.last_infos(infos)
        may_measure = ~self._autoreset | self._samples_anchors
        outcomes = {
            i: predicted_outcome(read_row(last, i), predictions.pop(i).reward, bool(may_measure[i]))
            for i in places(phase.ended)
        }
        apply_outcomes(self, last, rewards, outcomes)
        self._autoreset |= phase.started
        self._begin(places(phase.started), obs, infos)
        self._imagined = {
            i: fitting(prediction.feedback, cast("Any", self.single_observation_space)["feedback"])
            for i, prediction in predictions.items()
            if prediction.feedback
        }
        return _with_feedback(obs, self._imagined), rewards, terminations, truncations, infos

    def _begin(self, indices: list[int], obs: ObsType, infos: dict[str, Any]) -> None:
        if not indices:
            return
        observations = list(iterate(self.observation_space, obs))
        frames = _Frames(self.env)
        for i in indices:
            kept = 0 if self._draws_late else self._frames
            self._recorders[i] = EpisodeRecorder(observations[i], kept)
            self._recorders[i].frames.see(lambda i=i: frames[i])  # type: ignore[misc]
            self._executed[i] = read_row(infos, i).get(keys.ANCHOR, False)

    def _record(self, actions: list[Any], phase: Phase) -> None:
        frames = _Frames(self.env)
        for i in places(phase.stepped):
            self._recorders[i].add(actions[i])
            self._recorders[i].frames.see(lambda i=i: frames[i], final=bool(phase.ended[i]))  # type: ignore[misc]

    def _predict(self, phase: Phase) -> dict[int, Prediction]:
        asked = phase.ended.copy()
        if self._gives_feedback:
            asked |= phase.stepped & ~self._executed
        indices = places(asked)
        episodes = [self._recorders[i].episode() for i in indices]
        if self._draws_late and indices:
            drawn = cast("Any", self.env).render_frames(self._frames, indices)
            episodes = [replace(e, frames=f) for e, f in zip(episodes, drawn, strict=True)]
        return dict(zip(indices, predict(self.world_model, episodes, self._on_error), strict=True))


def _with_feedback(observations: Any, imagined: dict[int, str]) -> Any:
    if not imagined:
        return observations
    feedback = list(observations["feedback"])
    for i, text in imagined.items():
        feedback[i] = text
    return {**observations, "feedback": tuple(feedback)}


class _Frames:
    """All sub-environments' frames of one moment, rendered when the first is asked for."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self._env = env
        self._rendered: Sequence[Any] | None = None

    def __getitem__(self, index: int) -> Any:
        if self._rendered is None:
            self._rendered = self._env.render() or ()
        return self._rendered[index]
