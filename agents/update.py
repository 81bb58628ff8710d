"""One update of a policy from one batch of episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from wmrl_envs.agents.advantages import Advantages, group_advantages
from wmrl_envs.agents.batching import merge_duplicates, split_evenly, token_chunks
from wmrl_envs.agents.loss import LossTerms, policy_loss, row_coefficients
from wmrl_envs.agents.policies.base import TokenBatch, TokenPolicy
from wmrl_envs.agents.policies.padding import padded
from wmrl_envs.agents.processes import Processes, SharedRollout
from wmrl_envs.agents.rollout import Rollout
from wmrl_envs.agents.settings import GRPOSettings

__all__ = ["Update"]


@dataclass
class _Rows:
    """The samples that pull, each with its advantage and its factor in the batch loss."""

    batch: TokenBatch
    advantages: torch.Tensor
    coefficients: torch.Tensor

    def select(self, rows: Sequence[int]) -> "_Rows":
        return _Rows(self.batch.select(rows), self.advantages[rows], self.coefficients[rows])


@dataclass
class _Chunk:
    """Rows of one forward pass, with the constants of their loss, each (B, T)."""

    rows: _Rows
    behaviour: torch.Tensor
    old: torch.Tensor | None = None
    reference: torch.Tensor | None = None


class Update:
    """Improves a policy by the clipped, weighted, group-relative policy gradient.

    Rows whose advantage is zero are left out of the forward passes. They count in the averages, so
    the gradient is the same, but for the KL term, which they do not feel.

    In a run of several processes each brings its own rollout. Advantages and averages are those of
    all episodes together, each process passes its own samples through the policy, and the gradients
    are summed: the step is the one that a single process would make of the whole batch.

    Args:
        policy: The policy in training.
        reference: The frozen reference of the KL term, or None.
        optimizer: Holds the policy's parameters.
        settings: The run's settings.
        generator: Deals the minibatches (CPU).
        processes: The processes of the run; None: this one alone.
    """

    def __init__(
        self,
        policy: TokenPolicy,
        reference: TokenPolicy | None,
        optimizer: torch.optim.Optimizer,
        settings: GRPOSettings,
        generator: torch.Generator | None = None,
        processes: Processes | None = None,
    ) -> None:
        self._policy, self._reference, self._optimizer = policy, reference, optimizer
        self._settings, self._generator = settings, generator
        self._processes = processes or Processes()

    def __call__(self, rollout: Rollout) -> tuple[Advantages, dict[str, float]]:
        """Joins this process's rollout with the others' and updates the policy by all of them."""
        return self.apply(self._processes.share(rollout))

    def apply(self, shared: SharedRollout) -> tuple[Advantages, dict[str, float]]:
        """Updates the policy.

        Returns:
            All episodes' advantages, and means over the update: ``loss``, ``kl``,
            ``clip_fraction``, ``gradient_norm``, ``skipped_steps`` (gradients that were not
            finite). Without a single row that pulls the policy stays as it is and the dictionary is
            empty.
        """
        s, rollout = self._settings, shared.whole
        advantages = group_advantages(
            rollout.rewards,
            rollout.groups,
            graded=rollout.graded,
            weights=rollout.weights,
            scale=s.scale,
            std_floor=s.std_floor,
        )
        rows = self._rows(shared, advantages)
        counts = self._processes.gather(len(rows.batch))
        if not any(counts):
            return advantages, {}
        parts = self._deal(len(rows.batch), min(s.minibatches, max(counts)))
        minibatches = [self._chunks(rows.select(part)) for part in parts]
        report = _Report()
        for _ in range(s.inner_epochs):
            for chunks in minibatches:
                self._step(chunks, len(minibatches), report)
        return advantages, _Report.joined(self._processes.gather(report)).means()

    def _rows(self, shared: SharedRollout, advantages: Advantages) -> _Rows:
        samples, episodes = shared.whole.samples, shared.whole.episodes
        used = np.flatnonzero(advantages.used[episodes]) if len(episodes) else episodes
        if not len(used):
            return _Rows(TokenBatch(), torch.zeros(0), torch.zeros(0))
        coefficients = row_coefficients(
            torch.tensor([len(samples.responses[i]) for i in used]),
            torch.from_numpy(episodes[used]),
            self._settings.loss_normalization,
            num_episodes=int(advantages.used.sum()),
            constant=float(self._policy.max_response_tokens),
        )
        values = advantages.values[episodes[used]]
        pulling = [
            i
            for i, row in enumerate(used)
            if int(row) in shared.own_samples and values[i] != 0 and samples.responses[row]
        ]
        keys = [self._key(samples, used[i], values[i], coefficients[i]) for i in pulling]
        first, counts = merge_duplicates(keys)
        kept = [pulling[i] for i in first]
        factors = coefficients[kept] * torch.tensor(counts, dtype=torch.float32)
        device = self._policy.device
        return _Rows(
            samples.select([int(used[i]) for i in kept]),
            torch.tensor(values[kept], dtype=torch.float32, device=device),
            factors.to(device),
        )

    @staticmethod
    def _key(
        samples: TokenBatch, row: int, advantage: float, coefficient: torch.Tensor
    ) -> tuple[Any, ...]:
        context = samples.contexts[row]
        own = None if context is None else row
        return (samples.prompts[row], samples.responses[row], advantage, float(coefficient), own)

    def _deal(self, count: int, parts: int) -> list[list[int]]:
        """Deals rows into as many parts as every process has, some of which may be empty here."""
        if self._settings.minibatches == 1:
            return [list(range(count))]
        order = torch.randperm(count, generator=self._generator).tolist()
        dealt = split_evenly(order, parts)
        return dealt + [[] for _ in range(parts - len(dealt))]

    def _chunks(self, rows: _Rows) -> list[_Chunk]:
        batch = rows.batch
        parts = token_chunks(batch.prompts, batch.responses, self._settings.token_budget)
        return [self._chunk(rows.select(part)) for part in parts]

    def _chunk(self, rows: _Rows) -> _Chunk:
        behaviour, _ = padded(rows.batch.log_probs, torch.float32, self._policy.device)
        chunk = _Chunk(rows, behaviour)
        with torch.no_grad():
            if self._reference is not None:
                chunk.reference = self._reference.log_probs(rows.batch).log_probs
            if self._settings.minibatches > 1:
                chunk.old = self._policy.log_probs(rows.batch).log_probs
        return chunk

    def _step(self, chunks: list[_Chunk], minibatches: int, report: "_Report") -> None:
        self._optimizer.zero_grad(set_to_none=True)
        for chunk in chunks:
            terms, mask = self._loss(chunk)
            torch.autograd.backward(terms.loss * minibatches)
            report.add(terms, mask)
        self._processes.sum_gradients(self._policy.parameters())
        norm = torch.nn.utils.clip_grad_norm_(
            list(self._policy.parameters()), self._settings.max_grad_norm
        )
        report.norms.append(float(norm))
        if torch.isfinite(norm):
            self._optimizer.step()

    def _loss(self, chunk: _Chunk) -> tuple[LossTerms, torch.Tensor]:
        s, rows = self._settings, chunk.rows
        new = self._policy.log_probs(rows.batch, entropy=s.entropy_coef > 0)
        if chunk.old is None:
            # Before the first optimiser step the policy still is the old one: a pass is spared.
            chunk.old = new.log_probs.detach()
        terms = policy_loss(
            new.log_probs,
            chunk.old,
            rows.advantages,
            new.mask,
            rows.coefficients,
            clip_low=s.clip_low,
            clip_high=s.clip_high,
            behaviour_log_probs=chunk.behaviour,
            importance_limit=s.importance_limit,
            reference_log_probs=chunk.reference,
            kl_coef=s.kl_coef,
            entropy=new.entropy,
            entropy_coef=s.entropy_coef,
        )
        return terms, new.mask


class _Report:
    """Sums of what an update logs."""

    def __init__(self) -> None:
        self.norms: list[float] = []
        self._sums = {"loss": 0.0, "kl": 0.0, "clip_fraction": 0.0}
        self._tokens = 0.0

    @classmethod
    def joined(cls, parts: Sequence["_Report"]) -> "_Report":
        """One report of what several processes did together; they saw the same norms."""
        whole = parts[0]
        for part in parts[1:]:
            whole._tokens += part._tokens
            for name, value in part._sums.items():
                whole._sums[name] += value
        return whole

    def add(self, terms: LossTerms, mask: torch.Tensor) -> None:
        self._sums["loss"] += float(terms.loss.detach())
        self._sums["kl"] += float(terms.divergence.sum())
        self._sums["clip_fraction"] += float(terms.clipped.sum())
        self._tokens += float(mask.sum())

    def means(self) -> dict[str, float]:
        finite = [norm for norm in self.norms if np.isfinite(norm)]
        return {
            "loss": self._sums["loss"] / len(self.norms),
            "kl": self._sums["kl"] / self._tokens,
            "clip_fraction": self._sums["clip_fraction"] / self._tokens,
            "gradient_norm": float(np.mean(finite)) if finite else 0.0,
            "skipped_steps": float(len(self.norms) - len(finite)),
        }
