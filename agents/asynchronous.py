"""Rollouts that overlap: one batch is executed while the next is generated and the last learned.

The environments' steps run in one worker thread, in the order in which they were asked for, and
that order depends on no clock. So a run is as repeatable as a synchronous one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import torch
from gymnasium.vector import VectorEnv

from wmrl_envs.agents import checkpoint
from wmrl_envs.agents.policies.base import TokenBatch, TokenPolicy
from wmrl_envs.agents.rollout import Collector, Rollout, Seconds

__all__ = ["Pipeline"]


@dataclass
class _Flight:
    """A batch of episodes under way.

    Attributes:
        number: The update that it is for.
        collector: Plays it.
        before: The state of the environment's wrappers before its reset.
        turns: What the policy did so far: all that is needed to play it again.
        answer: The environment's step that is running, None if none is.
    """

    number: int
    collector: Collector
    before: dict[str, Any]
    turns: list[TokenBatch] = field(default_factory=list)
    answer: Future[tuple[Any, ...]] | None = None


class Pipeline:
    """Plays batches on several environments in turn, so that each is ready when its update comes.

    With ``k + 1`` environments the batch of an update begins up to ``k`` updates earlier: its
    tokens come from policies at most ``k`` updates old. Resets and sampling happen in the caller's
    thread, steps in the worker's. The environments must share nothing that they change, and a world
    model must not be the very model in training.

    Args:
        policy: Chooses the actions.
        envs: The environments, equally stacked and of one size.
        seeds: The reset seeds of the batch of a given update.
        generator: The policy's source of randomness.
        waiting: Adds up the time in which there was nothing to do but wait for an environment.
    """

    def __init__(
        self,
        policy: TokenPolicy,
        envs: Sequence[VectorEnv[Any, Any, Any]],
        seeds: Callable[[int], list[int]],
        generator: torch.Generator,
        waiting: Seconds,
    ) -> None:
        self._policy, self._envs, self._seeds = policy, list(envs), seeds
        self._generator, self._waiting = generator, waiting
        self._flights: deque[_Flight] = deque()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="environment")

    def next(self, step: int, total_steps: int) -> Rollout:
        """The batch of update ``step``; those of the next updates, below ``total_steps``, begin."""
        while len(self._flights) < min(len(self._envs), total_steps - step):
            self._start(step + len(self._flights))
        oldest = self._flights[0]
        self._land(oldest)
        while oldest.collector.is_live:
            self._send(oldest)
            for other in list(self._flights)[1:]:
                self._land(other)
                if other.collector.is_live:
                    self._send(other)
            self._land(oldest)
        return self._flights.popleft().collector.rollout

    def settle(self) -> None:
        """Waits until no environment is at work."""
        wait([flight.answer for flight in self._flights if flight.answer is not None])

    def abandon(self) -> None:
        """Drops the batches under way, after something went wrong."""
        self.settle()
        self._flights.clear()

    def state_dict(self) -> dict[str, Any]:
        """The environments' states before the batches under way, and what the policy did in these.

        Call it between updates, when no batch is being advanced.
        """
        before = {self._place(flight.number): flight.before for flight in self._flights}
        states = [
            before[i] if i in before else checkpoint.environment_state(env)
            for i, env in enumerate(self._envs)
        ]
        flights = [
            {"number": flight.number, "turns": [dict(vars(turn)) for turn in flight.turns]}
            for flight in self._flights
        ]
        return {"environments": states, "flights": flights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores the environments and plays the batches under way again.

        Raises:
            ValueError: The environments are stacked otherwise, or of another number.
        """
        if len(state["environments"]) != len(self._envs):
            raise ValueError(
                f"envs must be {len(state['environments'])} environments, as saved, "
                f"got {len(self._envs)}"
            )
        self.abandon()
        for env, saved in zip(self._envs, state["environments"], strict=True):
            checkpoint.load_environment_state(env, saved)
        for flight in state["flights"]:
            self._replay(flight["number"], [TokenBatch(**turn) for turn in flight["turns"]])

    def _place(self, number: int) -> int:
        return number % len(self._envs)

    def _begin(self, number: int) -> _Flight:
        env = self._envs[self._place(number)]
        before = checkpoint.environment_state(env)
        collector = Collector(self._policy, env, self._seeds(number), self._generator)
        flight = _Flight(number, collector, before)
        self._flights.append(flight)
        collector.reset()
        return flight

    def _start(self, number: int) -> None:
        self._send(self._begin(number))

    def _replay(self, number: int, turns: Sequence[TokenBatch]) -> None:
        flight = self._begin(number)
        for turn in turns:
            self._land(flight)
            self._submit(flight, turn)

    def _send(self, flight: _Flight) -> None:
        self._submit(flight, flight.collector.choose())

    def _submit(self, flight: _Flight, turn: TokenBatch) -> None:
        flight.turns.append(turn)
        actions = flight.collector.take(turn)
        flight.answer = self._worker.submit(flight.collector.step, actions)

    def _land(self, flight: _Flight) -> None:
        if flight.answer is not None:
            answer = self._waiting.timed(flight.answer.result)
            flight.answer = None
            flight.collector.note(answer)
