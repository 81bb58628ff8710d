"""Policies of LeRobot, for evaluation."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wmrl_envs.agents.policies.base import TokenBatch

__all__ = ["CAMERAS", "LeRobotPolicy", "robot_state"]

CAMERAS = {"agentview_image": "image", "robot0_eye_in_hand_image": "image2"}
"""The environment's pictures, and what LeRobot calls those of LIBERO."""

Step = Callable[[Any], Any]


class LeRobotPolicy:
    """Acts with any policy of LeRobot in the LIBERO environment.

    It plays and is evaluated (:func:`wmrl_envs.agents.evaluate`); its actions are no tokens, so it
    is not trained. Each action is planned afresh from the present observation, and ``action_chunk``
    steps of the plan are taken: with the policy's own ``n_action_steps`` that is LeRobot's
    evaluation. Make the environment with ``observation="pixels_state"``, the same ``action_chunk``,
    the policy's cameras and ``orientation="rot180"``, as LeRobot's LIBERO processor turns pictures
    (before version 0.4 they stayed ``"raw"``).

    Args:
        policy: The policy: ``reset()``, and ``select_action(batch)`` -> (B, A).
        preprocess: What LeRobot does to a batch of observations before; None: nothing.
        postprocess: What it does to the actions afterwards; None: nothing.
        action_chunk: Control steps of an action.
        cameras: LeRobot's name, without ``observation.images.``, of each picture.
        device: Where the observations go.

    Raises:
        ValueError: ``action_chunk`` is less than 1, or more than the policy plans.

    Example:
        >>> policy = LeRobotPolicy.from_pretrained(
        ...     "HuggingFaceVLA/smolvla_libero"
        ... )  # doctest: +SKIP
    """

    def __init__(
        self,
        policy: Any,
        *,
        preprocess: Step | None = None,
        postprocess: Step | None = None,
        action_chunk: int = 1,
        cameras: Mapping[str, str] = CAMERAS,
        device: torch.device | str = "cpu",
    ) -> None:
        planned = getattr(getattr(policy, "config", None), "n_action_steps", action_chunk)
        if not 1 <= action_chunk <= planned:
            raise ValueError(
                f"action_chunk must be from 1 to the policy's n_action_steps ({planned}), "
                f"got {action_chunk!r}"
            )
        self.policy, self.action_chunk = policy, int(action_chunk)
        self.cameras, self._device = dict(cameras), torch.device(device)
        self._preprocess, self._postprocess = preprocess, postprocess

    @classmethod
    def from_pretrained(
        cls, source: str | Path, *, device: torch.device | str = "cpu", **settings: Any
    ) -> "LeRobotPolicy":
        """Loads a policy with its processors from a folder or from the Hugging Face Hub.

        Args:
            source: A folder, or a Hub id such as "HuggingFaceVLA/smolvla_libero".
            device: Where it goes.
            **settings: Further arguments of this class.

        Raises:
            ImportError: LeRobot is not installed.
        """
        try:
            from lerobot.configs.policies import PreTrainedConfig
            from lerobot.policies.factory import get_policy_class, make_pre_post_processors
        except ImportError as error:
            raise ImportError(
                "LeRobot's policies need LeRobot 0.4 or newer: pip install lerobot"
            ) from error
        config = PreTrainedConfig.from_pretrained(str(source))
        config.device = str(device)
        policy = get_policy_class(config.type).from_pretrained(str(source), config=config)
        before, after = make_pre_post_processors(
            config,
            pretrained_path=str(source),
            preprocessor_overrides={"device_processor": {"device": str(device)}},
        )
        return cls(policy.eval(), preprocess=before, postprocess=after, device=device, **settings)

    @property
    def device(self) -> torch.device:
        """Where the observations go."""
        return self._device

    @torch.no_grad()
    def act(
        self,
        observations: Sequence[Mapping[str, Any]],
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
    ) -> TokenBatch:
        """Plans one action for each of B observations.

        Args:
            observations: B single observations of the LIBERO environment.
            generator: Not used: LeRobot's policies draw from torch's global generator.
            deterministic: Not used: there is no likeliest action to ask for.

        Returns:
            Actions (7,), or (action_chunk, 7), float32; prompts and responses are empty.

        Raises:
            ValueError: An observation lacks an entry.
        """
        if not len(observations):
            return TokenBatch()
        batch = self._batch(observations)
        batch = batch if self._preprocess is None else self._preprocess(batch)
        self.policy.reset()
        steps = [self._step(batch) for _ in range(self.action_chunk)]
        chunks = np.stack(steps, axis=1)
        actions = chunks[:, 0] if self.action_chunk == 1 else chunks
        blank: list[Any] = [()] * len(actions)
        return TokenBatch(list(actions), blank, list(blank), list(blank))

    def _batch(self, observations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Returns observations under LeRobot's names: pictures (B, 3, H, W) in [0, 1]."""
        wanted = [*self.cameras, "task", "robot0_eef_pos", "robot0_eef_quat", "robot0_gripper_qpos"]
        missing = [key for key in wanted if key not in observations[0]]
        if missing:
            raise ValueError(
                f"an observation for this policy must hold {wanted}, {missing} missing: make the "
                'environment with observation="pixels_state" and these cameras, or pass cameras='
            )
        pictures = {
            f"observation.images.{name}": self._picture(observations, key)
            for key, name in self.cameras.items()
        }
        states = np.stack([robot_state(observation) for observation in observations])
        return {
            **pictures,
            "observation.state": torch.from_numpy(states).to(self._device),
            "task": [str(observation["task"]) for observation in observations],
        }

    def _picture(self, observations: Sequence[Mapping[str, Any]], key: str) -> torch.Tensor:
        stacked = torch.from_numpy(np.stack([observation[key] for observation in observations]))
        return stacked.permute(0, 3, 1, 2).to(self._device).float() / 255

    def _step(self, batch: Any) -> NDArray[np.float32]:
        action = self.policy.select_action(dict(batch))
        action = action if self._postprocess is None else self._postprocess(action)
        return np.asarray(torch.as_tensor(action).float().cpu())


def robot_state(observation: Mapping[str, Any]) -> NDArray[np.float32]:
    """Returns the state that LeRobot's LIBERO policies see.

    Args:
        observation: ``robot0_eef_pos``, ``robot0_eef_quat`` (x, y, z, w), ``robot0_gripper_qpos``.

    Returns:
        (8,), float32: the hand's position in m, its rotation as axis times angle in rad, and the
        positions of both fingers in m.
    """
    x, y, z, w = (float(value) for value in observation["robot0_eef_quat"])
    w = min(max(w, -1.0), 1.0)
    sine = (1 - w * w) ** 0.5
    # As LeRobot does it: from 0 to 2 pi, not to the nearer side of the turn.
    turn = np.array([x, y, z]) * (2 * np.arccos(w) / sine if sine > 1e-10 else 0.0)
    parts = [observation["robot0_eef_pos"], turn, observation["robot0_gripper_qpos"]]
    return np.concatenate(parts).astype(np.float32)
