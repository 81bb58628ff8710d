"""An environment of this package as TRL wants it: a dataset, tools, and reward functions."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import gymnasium as gym

from wmrl_envs.agents.trl_tools import Played, ToolEnvironment, grade_answers
from wmrl_envs.resets import task_text
from wmrl_envs.spaces import UnicodeText

__all__ = ["WMRLSpec"]


class WMRLSpec:
    """One object that wires an environment into ``GRPOTrainer`` or ``WMRLGRPOTrainer``.

    With ``tools=True`` the model submits its actions by a tool call and may do so in several turns;
    its chat template must support tools. With ``tools=False`` the completion itself is the only
    action, which any template can do.

    An episode starts from the dataset's ``seed``, so the completions of a group share their start.
    In groups that are no anchors nothing is executed.

    Args:
        env_id: A text environment's id, such as "WMRL/AutoResearch-v0".
        world_model: An object with ``predict(episodes)``, such as those of
            ``wmrl_envs.wrappers.world_models``; needed by :attr:`predict` alone. In episodes that
            are not executed its feedback, if it has any, takes the environment's place.
        starts: Rows of the dataset.
        first_seed: Reset seed of the first row; the others count up.
        system: A system prompt; "" for none.
        tools: Submit by tool calls.
        **env_kwargs: Arguments of the environment. AutoResearch environments share a sandbox
            unless ``sandbox`` is given.

    Raises:
        TypeError: The environment takes no text, or ``tools=False`` with several turns.
        ValueError: ``starts`` is less than 1.

    Example::

        spec = WMRLSpec("WMRL/AutoResearch-v0", world_model=model, max_turns=3)
        trainer = WMRLGRPOTrainer(
            "Qwen/Qwen3-4B",
            measure=spec.measure,
            predict=spec.predict,
            anchors=AnchorDraw(fraction=0.1, seed=0),
            correction=Correction(),
            args=GRPOConfig("out", num_generations=8, max_tool_calling_iterations=3),
            train_dataset=spec.train_dataset,
            environment_factory=spec.environment_factory,
        )

    The plain trainer, which executes everything, takes ``reward_funcs=spec.reward_funcs``.
    """

    def __init__(
        self,
        env_id: str,
        *,
        world_model: Any = None,
        starts: int = 256,
        first_seed: int = 0,
        system: str = "",
        tools: bool = True,
        **env_kwargs: Any,
    ) -> None:
        if starts < 1:
            raise ValueError(f"starts must be >= 1, got {starts!r}")
        self.env_id = env_id if ":" in env_id else f"wmrl_envs:{env_id}"
        self.world_model, self.system, self.tools = world_model, system, tools
        self._seeds = range(first_seed, first_seed + starts)
        self._given = env_kwargs
        self._sandbox: Any = None
        self._check()

    @cached_property
    def train_dataset(self) -> Any:
        """A ``datasets.Dataset`` with the columns ``prompt`` (messages) and ``seed``.

        With tools the task is not in the prompt: TRL puts there what the environment's reset says.
        """
        from datasets import Dataset

        tasks = [""] * len(self._seeds) if self.tools else list(self._tasks())
        prompts = [[*self._opening(), {"role": "user", "content": task}] for task in tasks]
        return Dataset.from_dict({"prompt": prompts, "seed": list(self._seeds)})

    @cached_property
    def environment_factory(self) -> Callable[[], ToolEnvironment] | None:
        """Makes a tool environment; None without tools."""
        if not self.tools:
            return None
        return partial(ToolEnvironment, self.env_id, self.env_kwargs, self.world_model)

    @property
    def reward_funcs(self) -> list[Callable[..., list[float | None]]]:
        """The reward functions of a plain ``GRPOTrainer``: everything is measured."""
        return [self.measure]

    @property
    def measure(self) -> Callable[..., list[float | None]]:
        """The reward function that executes; None where the infrastructure failed."""
        return _named("measured", self._measured)

    @property
    def predict(self) -> Callable[..., list[float | None]]:
        """The reward function that asks the world model; None where it has no opinion.

        Raises:
            ValueError: There is no world model.
        """
        if self.world_model is None:
            raise ValueError("predict needs world_model, got None")
        return _named("predicted", self._predicted)

    @cached_property
    def env_kwargs(self) -> dict[str, Any]:
        """The environment's arguments; a shared sandbox is made here."""
        if "AutoResearch" not in self.env_id or "sandbox" in self._given:
            return self._given
        from wmrl_envs.autoresearch.sandbox import Sandbox

        self._sandbox = Sandbox()
        return {**self._given, "sandbox": self._sandbox}

    def close(self) -> None:
        """Stops the sandbox that this object made."""
        if self._sandbox is not None:
            self._sandbox.close()

    def _opening(self) -> list[dict[str, str]]:
        return [{"role": "system", "content": self.system}] if self.system else []

    def _tasks(self) -> Sequence[str]:
        env = gym.make(self.env_id, **self._given)
        try:
            return [task_text(env.reset(seed=seed)[0]) for seed in self._seeds]
        finally:
            env.close()

    def _measured(
        self, completions: Sequence[Any], environments: Any = None, **columns: Any
    ) -> list[float | None]:
        if environments is not None:
            return [environment._finish() for environment in environments]
        actions = list(map(_answer, completions))
        return grade_answers(self.env_id, self.env_kwargs, columns["seed"], actions)

    def _predicted(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        environments: Any = None,
        **columns: Any,
    ) -> list[float | None]:
        if environments is not None:
            episodes = [environment._played() for environment in environments]
        else:
            tasks = [prompt[-1]["content"] for prompt in prompts]
            answers = map(_answer, completions)
            episodes = [Played(t, (a,)) for t, a in zip(tasks, answers, strict=True)]
        return [prediction.reward for prediction in self.world_model.predict(episodes)]

    def _check(self) -> None:
        env = gym.make(self.env_id, **self._given)
        try:
            if not isinstance(env.action_space, UnicodeText):
                raise TypeError(f"env_id must take text, {self.env_id} takes {env.action_space}")
            if not self.tools and getattr(env.unwrapped, "max_turns", 1) > 1:
                raise TypeError("max_turns must be 1 with tools=False: a completion is one action")
        finally:
            env.close()


def _named(
    name: str, function: Callable[..., list[float | None]]
) -> Callable[..., list[float | None]]:
    """A reward function with a name for TRL's logs."""

    def reward(**columns: Any) -> list[float | None]:
        return function(**columns)

    reward.__name__ = name
    return reward


def _answer(completion: Any) -> str:
    """The text of a completion, which is text or a list of messages."""
    if isinstance(completion, str):
        return completion
    last: Mapping[str, Any] = completion[-1]
    return str(last.get("content") or "")
