"""World-model rewards for vector environments: one batched prediction a step."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from wmrl_envs import info as keys
from wmrl_envs.wrappers.episodes import has_text_feedback
from wmrl_envs.wrappers.outcomes import predicted_outcome
from wmrl_envs.wrappers.predictions import (
    OnError,
    WorldModelLike,
    check_on_error,
    load_world_model,
    predict,
)
from wmrl_envs.wrappers.stack import check_order
from wmrl_envs.wrappers.vector.recording import BatchRecorder
from wmrl_envs.wrappers.vector.rows import (
    EpisodeClock,
    Phase,
    apply_outcomes,
    places,
    read_rows,
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
        self._on_error = on_error
        self._clock = EpisodeClock(env)
        if frames and self._clock.mode == AutoresetMode.SAME_STEP:
            raise ValueError(f"frames={frames} needs an autoreset mode other than SAME_STEP")
        self._samples_anchors = samples_anchors(env)
        self._gives_feedback = has_text_feedback(env.single_observation_space)
        self._recorder = BatchRecorder(env, frames)
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
        taken = self._recorder.copied(actions)
        obs, _, terminations, truncations, infos = self.env.step(actions)
        phase = self._clock.step(terminations, truncations)
        infos, last = self._clock.opened(infos)
        self._recorder.add(taken, phase)
        predictions = self._predict(phase)
        rewards = np.zeros(len(self._executed))
        may_measure = ~self._autoreset | self._samples_anchors
        outcomes = {
            i: predicted_outcome(row, predictions.pop(i).reward, bool(may_measure[i]))
            for i, row in read_rows(last, places(phase.ended)).items()
        }
        apply_outcomes(last, rewards, outcomes)
        self._autoreset |= phase.started
        self._begin(places(phase.started), obs, infos)
        self._imagined = {
            i: fitting(prediction.feedback, cast("Any", self.single_observation_space)["feedback"])
            for i, prediction in predictions.items()
            if prediction.feedback
        }
        return _with_feedback(obs, self._imagined), rewards, terminations, truncations, infos

    def _begin(self, indices: list[int], obs: ObsType, infos: dict[str, Any]) -> None:
        self._recorder.begin(indices, obs)
        for i, row in read_rows(infos, indices, (keys.ANCHOR,)).items():
            self._executed[i] = row.get(keys.ANCHOR, False)

    def _predict(self, phase: Phase) -> dict[int, Prediction]:
        asked = phase.ended
        if self._gives_feedback:
            asked = asked | (phase.stepped & ~self._executed)
        indices = places(asked)
        episodes = self._recorder.episodes(indices)
        return dict(zip(indices, predict(self.world_model, episodes, self._on_error), strict=True))


def _with_feedback(observations: Any, imagined: dict[int, str]) -> Any:
    if not imagined:
        return observations
    feedback = list(observations["feedback"])
    for i, text in imagined.items():
        feedback[i] = text
    return {**observations, "feedback": tuple(feedback)}
