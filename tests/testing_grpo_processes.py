"""One process of a GRPO run: gradients of its part of a batch, then training and resuming."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from testing_letter_env import GrowingReward, LetterEnv
from testing_letters import letter_model, letter_tokenizer

from wmrl_envs.agents import GRPO, GRPOSettings, LanguageModelPolicy, collect
from wmrl_envs.agents.processes import Processes
from wmrl_envs.agents.rollout import Rollout
from wmrl_envs.agents.update import Update

__all__ = ["gradients"]

GROUPS, SIZE = 4, 4
NORMALIZATIONS = ("sequence", "token", "constant")


def gradients(accelerator: Any, normalization: Any) -> np.ndarray:
    """What an update follows when each process brings its share of four groups.

    Each process starts from other weights, so the update is only right if they are made equal.
    """
    processes = Processes(accelerator)
    policy = _policy(seed=processes.rank)
    processes.equalise(policy)
    settings = GRPOSettings(
        group_size=SIZE, max_grad_norm=1e9, loss_normalization=normalization, token_budget=64
    )
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
    update = Update(policy, None, optimizer, settings, processes=processes)
    update(_rollout(processes.rank, processes.count))
    return torch.cat([p.grad.flatten() for p in policy.parameters()]).numpy()


def _rollout(rank: int, count: int) -> Rollout:
    """Every process draws the whole batch alike and keeps its groups of it."""
    seeds = [group for group in range(GROUPS) for _ in range(SIZE)]
    envs = LetterEnv(len(seeds), turns=lambda seed: 1 + seed % 2)
    generator = torch.Generator().manual_seed(0)
    whole = collect(_policy(seed=0), envs, seeds, generator=generator)
    whole.rewards = np.random.default_rng(0).random(len(whole)) * (1 + whole.groups)
    whole.graded[[1, 9]] = False
    return _part(whole, np.flatnonzero(whole.groups % count == rank))


def _part(whole: Rollout, rows: np.ndarray) -> Rollout:
    names = [name for name, value in vars(whole).items() if np.shape(value)[:1] == (len(whole),)]
    columns = {name: _chosen(getattr(whole, name), rows) for name in names if name != "episodes"}
    samples = np.flatnonzero(np.isin(whole.episodes, rows))
    return Rollout(
        **columns,
        samples=whole.samples.select(samples.tolist()),
        episodes=np.searchsorted(rows, whole.episodes[samples]),
    )


def _chosen(column: Any, rows: np.ndarray) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else [column[i] for i in rows]


def _policy(seed: int) -> LanguageModelPolicy:
    return LanguageModelPolicy(
        letter_model(seed), letter_tokenizer(), max_new_tokens=8, stop_ids=[1, 5, 9, 12]
    )


def _learner(accelerator: Any) -> GRPO:
    settings: dict[str, Any] = {"group_size": 4, "learning_rate": 1e-2, "kl_coef": 0.05}
    settings |= {"minibatches": 2, "inner_epochs": 2, "seed": 3}
    return GRPO(_policy(0), _envs(), accelerator=accelerator, **settings)


def _envs() -> GrowingReward:
    return GrowingReward(LetterEnv(8, turns=lambda seed: 1 + seed % 2))


def _weights(model: GRPO) -> np.ndarray:
    return torch.cat([p.detach().flatten() for p in model.policy.parameters()]).numpy()


def _main(folder: Path) -> None:
    from accelerate import Accelerator

    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    whole = _learner(accelerator).learn(5)
    _learner(accelerator).learn(3).save(folder / "model.pt")
    accelerator.wait_for_everyone()
    resumed = GRPO.load(
        folder / "model.pt", policy=_policy(7), envs=_envs(), accelerator=accelerator
    ).learn(5)
    np.savez(
        folder / f"rank{accelerator.process_index}.npz",
        whole=_weights(whole),
        resumed=_weights(resumed),
        seeds=np.array(whole.envs.unwrapped.seeds_seen),
        tokens=whole.metrics["sampled_tokens"],
        **{name: gradients(accelerator, name) for name in NORMALIZATIONS},
    )
    accelerator.end_training()


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
