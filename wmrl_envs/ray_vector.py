"""A vector environment whose sub-environments live in Ray actors, on one machine or many."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from wmrl_envs import info as keys
from wmrl_envs.resets import seed_list

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
except ImportError as error:
    raise ImportError("RayVectorEnv needs Ray: pip install 'wmrl-envs[ray]'") from error

__all__ = ["RayVectorEnv"]

_LOST = "lost"
_LOST_INFO = MappingProxyType({keys.GRADED: False, keys.LOST: True})


class _Member:
    """One sub-environment, in an actor."""

    def __init__(self, env: str | Callable[..., gym.Env[Any, Any]], kwargs: Mapping[str, Any]):
        self._env = gym.make(env, **kwargs) if isinstance(env, str) else env(**kwargs)

    def spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        return self._env.observation_space, self._env.action_space

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, Any]:
        return self._env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, ...]:
        return self._env.step(action)

    def get(self, name: str) -> Any:
        return self._env.get_wrapper_attr(name)


class RayVectorEnv(VectorEnv[Any, Any, np.ndarray]):
    """Steps each sub-environment in a Ray actor of its own, all at once.

    A finished sub-environment freezes until it is reset: it repeats its last observation, keeps its
    flags, gets reward 0.0, and its actor rests. Groups of episodes that were reset together so stay
    together, as GRPO wants it.

    An actor that dies is replaced. Its episode cannot be continued: it ends, truncated, with reward
    0.0, ``graded=False`` and ``lost=True`` in its info: learners leave it out, and no world model
    may grade it; it is never a failure of the policy. The other episodes go on, and the next reset
    finds the new actor. An actor that dies in a reset is replaced and asked once more.

    Connect to the cluster first (``ray.init``). Every machine needs this package and what the
    environment needs. An error that an environment raises is not an actor's death: it is raised
    here.

    Args:
        env: A registered id, as ``gymnasium.make`` takes it ("wmrl_envs:WMRL/LiberoLong-v0"), or a
            function that builds a sub-environment.
        num_envs: How many, N.
        env_kwargs: The arguments of each.
        actor_options: What Ray reserves for an actor, ``{"num_cpus": 1}`` by default.

    Attributes:
        replaced: How many actors were replaced so far.

    Raises:
        ImportError: Ray is not installed.
        ValueError: ``num_envs`` is less than 1.
        RuntimeError: Ray is not connected, or an actor died again when asked again.

    Example:
        .. code-block:: python

            ray.init(address="auto")
            envs = RayVectorEnv("wmrl_envs:WMRL/LiberoLong-v0", 64, {"task_id": 0})
            envs = AnchorSamplingWrapper(envs, fraction=0.1)
    """

    def __init__(
        self,
        env: str | Callable[..., gym.Env[Any, Any]],
        num_envs: int,
        env_kwargs: Mapping[str, Any] | None = None,
        *,
        actor_options: Mapping[str, Any] | None = None,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be >= 1, got {num_envs!r}")
        if not ray.is_initialized():
            raise RuntimeError("Ray is not connected: call ray.init() first")
        self.num_envs, self.replaced = num_envs, 0
        self.metadata = {"autoreset_mode": AutoresetMode.DISABLED}
        self._recipe = (env, dict(env_kwargs or {}))
        self._options = {"num_cpus": 1, "max_restarts": 0, **(actor_options or {})}
        self._actors = [self._actor() for _ in range(num_envs)]
        observation, action = ray.get(self._actors[0].spaces.remote())
        self.single_observation_space, self.single_action_space = observation, action
        self.observation_space = batch_space(observation, num_envs)
        self.action_space = batch_space(action, num_envs)
        self._observations: list[Any] = [None] * num_envs
        self._terminated = np.zeros(num_envs, dtype=bool)
        self._truncated = np.ones(num_envs, dtype=bool)

    @property
    def actors(self) -> tuple[Any, ...]:
        """The N actors' handles."""
        return tuple(self._actors)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Starts episodes, all or those of ``options["reset_mask"]`` (N,) bool.

        Args:
            seed: N reset seeds, or the first of them.
            options: Handed to every sub-environment, the mask apart.
        """
        rest = dict(options or {})
        mask = np.asarray(rest.pop("reset_mask", np.ones(self.num_envs)), dtype=bool)
        seeds = seed_list(seed, self.num_envs)
        chosen = np.flatnonzero(mask).tolist()
        asked = {i: (seeds[i], rest or None) for i in chosen}
        answers = self._ask("reset", asked)
        lost = {i: asked[i] for i, answer in answers.items() if answer is _LOST}
        answers.update(self._ask("reset", lost))
        infos: dict[str, Any] = {}
        for i, answer in answers.items():
            if answer is _LOST:
                raise RuntimeError(f"the actor of sub-environment {i} died twice in its reset")
            self._observations[i], info = answer
            infos = self._add_info(infos, info, i)
        self._terminated[mask] = self._truncated[mask] = False
        return self._batched(), infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps the live sub-environments; actions of the others are ignored."""
        live = np.flatnonzero(~(self._terminated | self._truncated)).tolist()
        singles = list(iterate(self.action_space, actions))
        answers = self._ask("step", {i: (singles[i],) for i in live})
        rewards, infos = np.zeros(self.num_envs), dict[str, Any]()
        for i, answer in answers.items():
            if answer is _LOST:
                answer = (self._observations[i], 0.0, False, True, dict(_LOST_INFO))
            self._observations[i], rewards[i], ended, cut, info = answer
            self._terminated[i], self._truncated[i] = ended, cut
            infos = self._add_info(infos, info, i)
        return self._batched(), rewards, self._terminated.copy(), self._truncated.copy(), infos

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each sub-environment."""
        return tuple(ray.get([actor.get.remote(name) for actor in self._actors]))

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the actors."""
        for actor in self._actors if ray.is_initialized() else ():
            ray.kill(actor)
        self._actors = []

    def _actor(self) -> Any:
        return ray.remote(_Member).options(**self._options).remote(*self._recipe)

    def _ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Each actor's answer, ``_LOST`` of those that died, which are replaced."""
        asked = {
            i: getattr(self._actors[i], method).remote(*given) for i, given in arguments.items()
        }
        return {i: self._answer(i, reference) for i, reference in asked.items()}

    def _answer(self, index: int, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except RayTaskError:
            raise  # the environment's own error
        except RayError:
            ray.kill(self._actors[index])
            self._actors[index] = self._actor()
            self.replaced += 1
            return _LOST

    def _batched(self) -> Any:
        space = self.single_observation_space
        empty: Any = create_empty_array(space, n=self.num_envs, fn=np.zeros)
        return concatenate(space, self._observations, empty)
