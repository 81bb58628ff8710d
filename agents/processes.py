"""The processes of a data-parallel run, by way of Hugging Face Accelerate; or this one alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from wmrl_envs.agents.policies.base import TokenBatch, TokenPolicy
from wmrl_envs.agents.rollout import Rollout, Seconds

if TYPE_CHECKING:
    from accelerate import Accelerator

__all__ = ["Processes", "SharedRollout"]


@dataclass(frozen=True)
class SharedRollout:
    """The rollouts of all processes as one.

    Attributes:
        whole: All episodes, by process. Of the others' samples, prompts and contexts are left out.
        own_samples: Which of its samples were drawn here.
    """

    whole: Rollout
    own_samples: range


class Processes:
    """What the processes of a run tell each other; alone, each call returns its own argument.

    Every process holds the whole policy (plain data parallelism; weights that DeepSpeed or FSDP cut
    into shards are another matter) and must make the same calls in the same order.

    Args:
        accelerator: An ``accelerate.Accelerator``; None: this process is alone.

    Raises:
        ValueError: The accelerator cuts weights into shards.

    Example:
        >>> Processes().gather("rollout")
        ['rollout']
    """

    def __init__(self, accelerator: Accelerator | None = None) -> None:
        _refuse_shards(accelerator)
        self.rank = 0 if accelerator is None else int(accelerator.process_index)
        self.count = 1 if accelerator is None else int(accelerator.num_processes)
        self.device = None if accelerator is None else accelerator.device

    @property
    def alone(self) -> bool:
        """True in a run of one process."""
        return self.count == 1

    @property
    def is_main(self) -> bool:
        """True in the process that writes files."""
        return self.rank == 0

    def gather(self, value: Any) -> list[Any]:
        """Every process's value, by rank."""
        if self.alone:
            return [value]
        from accelerate.utils import gather_object

        return list(gather_object([value]))

    def share(self, rollout: Rollout) -> SharedRollout:
        """Joins the rollouts of all processes."""
        if self.alone:
            return SharedRollout(rollout, range(len(rollout.samples)))
        parts = self.gather(_light(rollout))
        parts[self.rank] = rollout
        first = sum(len(part.samples) for part in parts[: self.rank])
        return SharedRollout(_joined(parts), range(first, first + len(rollout.samples)))

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Gives every process the sum of all processes' gradients.

        A parameter without a gradient anywhere keeps None.
        """
        if self.alone:
            return
        every = list(parameters)
        present = torch.tensor([p.grad is not None for p in every], dtype=torch.float32)
        present = self._sum(present.to(every[0].device))
        for kind in dict.fromkeys((p.dtype, p.device) for p in every):
            chosen = [
                p
                for p, count in zip(every, present.tolist(), strict=True)
                if count and (p.dtype, p.device) == kind
            ]
            self._sum_together(chosen)

    def _sum_together(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """One message for all of them: a call a parameter would wait a hundred times."""
        if not parameters:
            return
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        summed = self._sum(torch.cat([grad.flatten() for grad in grads]))
        sizes = [p.numel() for p in parameters]
        for parameter, part in zip(parameters, summed.split(sizes), strict=True):
            parameter.grad = part.view_as(parameter).clone()

    def equalise(self, policy: TokenPolicy) -> None:
        """Gives every process the weights of the first."""
        if self.alone:
            return
        from accelerate.utils import broadcast

        state = policy.state_dict()
        for name, value in state.items():
            if isinstance(value, torch.Tensor):
                state[name] = broadcast(value.detach().clone(), from_process=0)
        policy.load_state_dict(state)

    @staticmethod
    def _sum(tensor: torch.Tensor) -> torch.Tensor:
        from accelerate.utils import reduce

        summed: torch.Tensor = reduce(tensor, reduction="sum")
        return summed


def _refuse_shards(accelerator: Any) -> None:
    kind = getattr(getattr(accelerator, "distributed_type", None), "value", "NO")
    if kind in ("DEEPSPEED", "FSDP", "MEGATRON_LM"):
        raise ValueError(
            f"accelerator must keep the whole policy in every process, got the type {kind}; "
            "use plain multi-GPU or multi-CPU data parallelism, or TRL's trainer"
        )


def _light(rollout: Rollout) -> Rollout:
    """Without what only the process that drew the samples needs, images above all."""
    samples = rollout.samples
    empty: list[Any] = [()] * len(samples)
    light = TokenBatch(samples.actions, empty, samples.responses, samples.log_probs)
    return replace(rollout, samples=light)


def _joined(parts: Sequence[Rollout]) -> Rollout:
    columns: dict[str, Any] = {}
    for field in fields(Rollout):
        values = [getattr(part, field.name) for part in parts]
        if isinstance(values[0], np.ndarray):
            columns[field.name] = np.concatenate(values)
        elif isinstance(values[0], list):
            columns[field.name] = [item for value in values for item in value]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    columns["episodes"] = np.concatenate(
        [part.episodes + start for part, start in zip(parts, starts, strict=False)]
    )
    samples = TokenBatch()
    for part in parts:
        samples.extend(part.samples)
    return Rollout(**columns, samples=samples, generation=Seconds(), environment=Seconds())
