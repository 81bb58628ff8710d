"""``wmrl sft``: behaviour cloning of a vision-language-action policy."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from tyro.conf import Positional

from wmrl_envs.benchmarks.commands.base import UsageError, stopped_by_signals, usage_errors
from wmrl_envs.benchmarks.progress_bar import progress_bar

if TYPE_CHECKING:
    from wmrl_envs.agents.cloning import Cloning, CloningSettings
    from wmrl_envs.agents.policies.vla.tiny import TinyVLA
    from wmrl_envs.libero.demonstrations import Demonstration, Recipe

__all__ = ["Sft"]

_CHECKPOINT_EVERY = 100


@dataclass(frozen=True)
class Sft:
    """Clone the scripted expert into a TinyVLA, on LIBERO-Long.

    What DEMOS lacks is recorded first. The policy goes to OUT/policy, its figures to
    OUT/results.json. Interrupted, the same command goes on where it stopped. The defaults give a
    policy of middling success, from which reinforcement learning can start.

    A policy of its own: `VLAPolicy.load("OUT/policy")` of `wmrl_envs.agents.policies.vla`.
    """

    kind: Positional[Literal["vla"]]
    """The kind of policy."""
    demos: Positional[Path]
    """The folder of demonstrations, as `wmrl demos collect` makes it."""
    out: Positional[Path]
    """The folder for checkpoint, policy and figures."""
    task: str = "5"
    """Tasks of libero_10: numbers and ranges such as 0-3,7, or `all`."""
    states: str = "train"
    """Initial states: numbers and ranges, `train` (0-15), `heldout` (16-49) or `all`."""
    episodes: int = 6
    """Demonstrations from every initial state, with different noise."""
    noise: float = 0.1
    """Standard deviation of the noise on the expert's commands. The policy learns what the expert
    intended, and so how to come back."""
    observation: Literal["state", "pixels", "pixels_state"] = "state"
    """What the policy sees: the poses of robot and objects; pictures; pictures and the robot's own
    pose."""
    pixels: int = 64
    """The side of the pictures, a multiple of 16."""
    action_chunk: int = 4
    """Control steps between two looks."""
    width: int = 128
    """Width of the transformer."""
    layers: int = 2
    """Layers of the transformer."""
    steps: int = 800
    """Optimiser steps."""
    batch_size: int = 96
    """Moments a step."""
    learning_rate: float = 2e-3
    """The highest learning rate."""
    held_out: float = 0.1
    """The share of the demonstrations that only measure the loss."""
    evaluate: int = 0
    """Episodes to play afterwards, for every task, over its initial states in turn."""
    temperature: float = 1.0
    """Divides the logits when the policy is sampled."""
    seed: int = 0
    """Seed of the weights, the order of the examples and the sampling."""
    threads: int = 1
    """Threads of PyTorch."""

    def run(self, console: Console) -> int:
        """Records, trains, measures, writes."""
        import torch

        from wmrl_envs.agents.cloning import Cloning, make_examples

        torch.set_num_threads(self.threads)
        with usage_errors():
            model, settings, recipes = self._model(), self._settings(), self._recipes()
        with stopped_by_signals():
            demonstrations = self._demonstrations(recipes, console)
            examples, aside = make_examples(demonstrations, model).split(self.held_out)
            model.fit_statistics([i.context for i in examples.inputs])
            cloning = Cloning(model, examples, settings)
            self._train(cloning, console)
            losses = {"loss": cloning.loss(aside), "moments": len(aside)}
            console.print(f"held-out loss {losses['loss']:.3f} nats a token ({len(aside)} moments)")
            self._finish(model, losses, console)
        return 0

    def _model(self) -> "TinyVLA":
        import torch

        from wmrl_envs.agents.policies.vla.tiny import TinyVLA, TinyVLAConfig

        torch.manual_seed(self.seed)
        return TinyVLA(
            TinyVLAConfig(
                observation=self.observation,
                action_chunk=self.action_chunk,
                image_size=self.pixels,
                width=self.width,
                layers=self.layers,
            )
        )

    def _settings(self) -> "CloningSettings":
        from wmrl_envs.agents.cloning import CloningSettings

        return CloningSettings(
            steps=self.steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            seed=self.seed,
        )

    def _recipes(self) -> "list[Recipe]":
        from wmrl_envs.benchmarks.demonstrations import selection

        return selection.make_recipes(
            selection.parse_tasks(self.task),
            selection.parse_states(self.states),
            seeds=range(self.episodes),
            noise=self.noise,
        )

    def _demonstrations(self, recipes: "list[Recipe]", console: Console) -> "list[Demonstration]":
        """The successes among the recipes' episodes, with pictures if the policy looks at any."""
        from wmrl_envs.benchmarks.demonstrations import session
        from wmrl_envs.libero.demonstrations import Pictures, Store

        store = Store(self.demos / "episodes")
        pictures = None if self.observation == "state" else Pictures(size=self.pixels)
        if pictures is None and all(recipe in store for recipe in recipes):
            found = [store.get(recipe) for recipe in recipes]
        else:
            with session.demonstration_env(pictures) as env:
                found = session.collected(env, recipes, store, console)
                found = [demonstration for demonstration in found if demonstration.success]
                if pictures is not None:
                    found = _with_pictures(env, found, pictures, console)
        kept = [demonstration for demonstration in found if demonstration.success]
        if not kept:
            raise UsageError(f"none of the {len(found)} demonstrations is a success: lower --noise")
        return kept

    def _train(self, cloning: "Cloning", console: Console) -> None:
        path = self.out / "checkpoint.pt"
        if path.is_file():
            with usage_errors():
                cloning.load(path)
        with progress_bar(console) as bar, _saved_at_the_end(cloning, path):
            line = bar.add_task("cloning", total=self.steps, note="", completed=cloning.step)

            def after_step(step: int, loss: float) -> None:
                bar.update(line, completed=step, note=f"loss {loss:.3f}")
                if step % _CHECKPOINT_EVERY == 0:
                    cloning.save(path)

            cloning.run(after_step)

    def _finish(self, model: "TinyVLA", losses: dict[str, Any], console: Console) -> None:
        """Writes the policy, plays the episodes, writes the figures."""
        from wmrl_envs.agents.policies.vla import VLAPolicy
        from wmrl_envs.benchmarks.autoresearch.records import write_record
        from wmrl_envs.benchmarks.provenance import PACKAGES, provenance
        from wmrl_envs.libero import stock

        policy = VLAPolicy(model, temperature=self.temperature)
        policy.save(self.out / "policy")
        record = {
            **provenance(sys.argv[1:], (*PACKAGES, *stock.versions())),
            "settings": {
                k: v for k, v in asdict(self).items() if k not in ("kind", "demos", "out")
            },
            "held_out": losses,
        }
        if self.evaluate:
            record["successes"] = self._successes(policy, console)
        write_record(self.out / "results.json", record)
        console.print(f"Wrote {self.out}", markup=False, highlight=False, soft_wrap=True)

    def _successes(self, policy: Any, console: Console) -> dict[str, dict[str, Any]]:
        from wmrl_envs.benchmarks.demonstrations.selection import parse_states, parse_tasks

        found = {}
        for task in parse_tasks(self.task):
            states = parse_states(self.states)
            chosen = [states[i % len(states)] for i in range(self.evaluate)]
            successes = self._play(policy, task, chosen, console)
            found[str(task)] = {"states": chosen, "successes": successes}
            console.print(f"task {task}: {sum(successes)} of {len(successes)} episodes succeeded")
        return found

    def _play(self, policy: Any, task: int, states: Sequence[int], console: Console) -> list[bool]:
        import gymnasium as gym
        import torch

        generator = torch.Generator().manual_seed(self.seed)
        env = gym.make(
            "wmrl_envs:WMRL/LiberoLong-v0",
            task_id=task,
            split="all",
            observation=self.observation,
            action_chunk=self.action_chunk,
            image_size=self.pixels,
            horizon=520,
        )
        try:
            with progress_bar(console) as bar:
                line = bar.add_task(f"playing task {task}", total=len(states), note="")
                successes: list[bool] = []
                for state in states:
                    successes.append(_episode(env, policy, task, state, generator))
                    bar.update(line, advance=1, note=f"{sum(successes)} succeeded")
        finally:
            env.close()
        return successes


def _episode(env: Any, policy: Any, task: int, state: int, generator: Any) -> bool:
    observation, _ = env.reset(options={"task_id": task, "init_state_id": state})
    terminated = truncated = False
    while not (terminated or truncated):
        action = policy.act([observation], generator=generator).actions[0]
        observation, _, terminated, truncated, _ = env.step(action)
    return bool(terminated)


@contextmanager
def _saved_at_the_end(cloning: "Cloning", path: Path) -> Iterator[None]:
    """Keeps the steps that were taken, also when the user interrupts."""
    try:
        yield
    finally:
        with suppress(RuntimeError):  # in the midst of an update: the last checkpoint stands
            cloning.save(path)


def _with_pictures(
    env: Any, demonstrations: "list[Demonstration]", pictures: Any, console: Console
) -> "list[Demonstration]":
    """The demonstrations with the pictures of every moment among their observations."""
    from dataclasses import replace

    found = []
    with progress_bar(console) as bar:
        line = bar.add_task("rendering", total=len(demonstrations), note="")
        for demonstration in demonstrations:
            seen = {**demonstration.observations, **pictures.of(env, demonstration)}
            found.append(replace(demonstration, observations=seen))
            bar.update(line, advance=1, note=demonstration.recipe.name)
    return found
