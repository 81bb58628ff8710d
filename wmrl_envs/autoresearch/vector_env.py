"""Many AutoResearch episodes at once, whose programs are executed as one batch."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.checks import checked_int
from wmrl_envs.autoresearch.env import AutoResearchEnv, checked_render_mode
from wmrl_envs.autoresearch.execution import Executor
from wmrl_envs.autoresearch.outcome import Outcome
from wmrl_envs.autoresearch.outcome_cache import CacheSpecifier
from wmrl_envs.autoresearch.rules import Rules
from wmrl_envs.autoresearch.sandbox import JobRunner, Limits
from wmrl_envs.autoresearch.seat import Seat
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.resets import seed_list

__all__ = ["AutoResearchVectorEnv"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
VectorTransition = tuple[dict[str, Any], FloatArray, BoolArray, BoolArray, dict[str, Any]]


class AutoResearchVectorEnv(VectorEnv[dict[str, Any], Any, np.ndarray]):
    """Episodes of :class:`AutoResearchEnv` side by side; one sandbox executes their programs.

    Equal to ``gymnasium.vector.SyncVectorEnv`` over single environments, but the programs of a
    step run ``workers`` at a time and equal ones run once. Observations are batched as there:
    ``task`` and ``feedback`` are tuples of N strings, ``turn`` is (N,), int64.

    With ``AutoresetMode.DISABLED``, the default, a finished sub-environment freezes: it repeats its
    last observation, gives reward 0.0 and no info, and stays terminated until it is reset, whatever
    its action. That keeps a GRPO group together: ``reset(seed=[s1] * G + [s2] * G)``.
    ``options["reset_mask"]``, (N,), bool, resets some sub-environments only.

    Args:
        num_envs: The number of sub-environments, N.
        tasks: See :class:`AutoResearchEnv`, as for all arguments that are not explained here.
        max_turns: Turns of an episode.
        reward: What an episode pays.
        observation: How a task is shown.
        feedback: What is shown between turns.
        limits: Limits of one execution.
        sandbox: A sandbox to share, or the arguments of an own one.
        cache: Execute equal programs once: True remembers in memory, a path also in a file that
            later runs and other processes share, False executes every time.
        execution_seed: The seed that every program starts with.
        render_mode: ``"ansi"`` or None.
        workers: Programs that an own sandbox executes at once.
        autoreset_mode: What happens to finished sub-environments, as a mode or as its value.
        max_episode_steps: Truncates episodes after so many steps; None or -1 for no limit.
        cache_dir: Where bundled tasks are laid out; None for the user's cache folder.

    Raises:
        ExecutionCacheError: The file ``cache`` cannot be used.
        TypeError: An argument has the wrong type.
        ValueError: An argument has an impossible value.

    Example:
        >>> import gymnasium as gym
        >>> envs = gym.make_vec("wmrl_envs:WMRL/AutoResearch-v0", num_envs=2, observation="card")
        >>> observations, infos = envs.reset(seed=[7, 7], options={"execute": False})
        >>> observations["task"][0] == observations["task"][1]
        True
        >>> observations, rewards, *_, infos = envs.step(("print(", "no code at all"))
        >>> [str(status) for status in infos["grade_status"]]
        ['syntax_error', 'malformed']
        >>> envs.close()
    """

    def __init__(
        self,
        num_envs: int = 1,
        tasks: str | Task | Sequence[str | Task] = "train",
        max_turns: int = 1,
        reward: str = "ladder",
        observation: str = "overview",
        feedback: str = "full",
        limits: Limits | Mapping[str, Any] | None = None,
        sandbox: JobRunner | Mapping[str, Any] | None = None,
        cache: CacheSpecifier = True,
        execution_seed: int = 0,
        render_mode: str | None = None,
        workers: int = 2,
        autoreset_mode: str | AutoresetMode = AutoresetMode.DISABLED,
        max_episode_steps: int | None = None,
        cache_dir: catalog.CacheDir = None,
    ) -> None:
        self.num_envs = checked_int("num_envs", num_envs, least=1)
        self.tasks = catalog.resolve(tasks, cache_dir=cache_dir)
        self.max_turns = max_turns
        self.render_mode = checked_render_mode(render_mode)
        self.autoreset_mode = _checked_mode(autoreset_mode)
        self.metadata = {**AutoResearchEnv.metadata, "autoreset_mode": self.autoreset_mode}
        rules = Rules(self.tasks, max_turns, reward, observation, feedback)
        max_steps = _checked_max_steps(max_episode_steps)
        self._seats = [Seat(rules, max_steps) for _ in range(num_envs)]
        self._executor = Executor(
            sandbox, limits, cache, execution_seed, workers, feedback=rules.shows_scores
        )
        self.single_observation_space = rules.observation_space()
        self.single_action_space = rules.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of the sub-environments, as in ``SyncVectorEnv``."""
        return tuple(seat.np_random for seat in self._seats)

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:  # type: ignore[override]
        """The seeds of the sub-environments' generators."""
        return tuple(seat.np_random_seed for seat in self._seats)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Starts an episode in every sub-environment, or in those of ``options["reset_mask"]``.

        Args:
            seed: One seed per sub-environment, or the first of N consecutive ones, or None.
            options: See :class:`AutoResearchEnv`; every sub-environment gets the same. An
                ``execute`` that is a set of reset seeds tells them apart.

        Returns:
            The batched observations and infos.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            ResetNeeded: The first reset leaves out a sub-environment.
            TypeError: A seed or an option has the wrong type.
            ValueError: An option, or the number of seeds, is wrong.
        """
        self._refuse_if_closed()
        if not isinstance(options, Mapping | None):
            raise TypeError(f"options must be a dict or None, got {options!r}")
        options = dict(options or {})
        mask = self._checked_mask(options.pop("reset_mask", None))
        infos: dict[str, Any] = {}
        for i, sub_seed in enumerate(seed_list(seed, self.num_envs)):
            if mask[i]:
                infos = self._add_info(infos, self._seats[i].reset(sub_seed, options), i)
        return self._observations(), infos

    def step(self, actions: Any) -> VectorTransition:
        """Executes and grades the programs of all running sub-environments.

        Args:
            actions: N strings; those of finished sub-environments are ignored.

        Returns:
            Batched observations, rewards (N,), terminations (N,), truncations (N,), and infos.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            ResetNeeded: There are no episodes.
            SandboxUnavailable: The machine lacks a layer of isolation that the sandbox insists on.
            TypeError: An action is no string.
            ValueError: The number of actions is wrong.
        """
        self._refuse_if_closed()
        playing = self._playing(actions)
        proposals = [self._seats[i].propose(action) for i, action in playing.items()]
        outcomes = dict(zip(playing, self._executor.resolve(proposals), strict=True))
        rows = []
        infos: dict[str, Any] = {}
        for i, seat in enumerate(self._seats):
            info = self._pass(seat, playing.get(i), outcomes.get(i))
            rows.append((seat.reward, seat.terminated, seat.truncated))
            if self.autoreset_mode is AutoresetMode.SAME_STEP and seat.done:
                final = {"final_obs": seat.observation(), "final_info": info}
                infos = self._add_info(infos, final, i)
                info = seat.reset()
            infos = self._add_info(infos, info, i)
        rewards, terminations, truncations = map(np.array, zip(*rows, strict=True))
        return self._observations(), rewards, terminations, truncations, infos

    def render(self) -> tuple[str, ...] | None:
        """The episodes so far, as texts (``render_mode="ansi"``); None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(seat.episode.render() for seat in self._seats)

    def metrics(self) -> dict[str, int | float]:
        """Executions, those answered by the cache and their part, those that failed, seconds."""
        return self._executor.metrics()

    def close_extras(self, **kwargs: Any) -> None:
        """Stops the sandbox, unless it was passed in."""
        self._executor.close()

    def _observations(self) -> dict[str, Any]:
        space = self.single_observation_space
        out: Any = create_empty_array(space, self.num_envs, fn=np.zeros)
        batch: Any = concatenate(space, [seat.observation() for seat in self._seats], out)
        return batch

    def _playing(self, actions: Any) -> dict[int, Any]:
        """The actions that count, by sub-environment."""
        if isinstance(actions, str) or not isinstance(actions, Iterable):
            raise TypeError(f"actions must be {self.num_envs} strings, got {actions!r}")
        listed = list(iterate(self.action_space, actions))
        if len(listed) != self.num_envs:
            raise ValueError(f"actions must be {self.num_envs} strings, got {len(listed)}")
        return {i: action for i, action in enumerate(listed) if not self._seats[i].done}

    def _pass(self, seat: Seat, action: Any, outcome: Outcome | None) -> dict[str, Any]:
        """Lets one sub-environment pass through a step; returns its info."""
        if outcome is not None:
            return seat.advance(action, outcome)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            return seat.reset()
        return seat.rest()

    def _checked_mask(self, mask: Any) -> BoolArray:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] must be an array of bool, got {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must have shape ({self.num_envs},) and hold a True, "
                f"got {mask!r}"
            )
        return mask

    def _refuse_if_closed(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed: make a new one")


def _checked_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        choices = ", ".join(repr(m.value) for m in AutoresetMode)
        raise ValueError(f"autoreset_mode must be one of {choices}, got {mode!r}") from None


def _checked_max_steps(max_episode_steps: int | None) -> int | None:
    if max_episode_steps in (None, -1):
        return None
    return checked_int("max_episode_steps", max_episode_steps, least=1)
